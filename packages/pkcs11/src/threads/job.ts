import { endedError } from "@signpost/core";

/** One attempt at one signature, waiting for a session or running in one. */
export interface Job {
  readonly key: number;
  readonly digest: Uint8Array;
  /** A call that runs longer hangs. Milliseconds. */
  readonly hangMs: number;
  /** The caller was released. What still comes is dropped. */
  readonly settled: boolean;
  resolve(signature: Uint8Array): void;
  reject(error: unknown): void;
}

export interface JobInput {
  readonly key: number;
  readonly digest: Uint8Array;
  readonly hangMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The caller's promise and the pool's handle on it. An aborted caller is released at once. */
export function createJob(input: JobInput): { readonly job: Job; readonly result: Promise<Uint8Array> } {
  const { key, digest, hangMs, signal } = input;
  const { promise, resolve, reject } = withResolvers<Uint8Array>();
  let settled = false;
  const settle = (): boolean => {
    if (settled) return false;
    settled = true;
    signal?.removeEventListener("abort", onAbort);
    return true;
  };
  const onAbort = (): void => {
    if (settle()) reject(endedError(signal?.reason));
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  const job: Job = {
    key,
    digest,
    hangMs,
    get settled() {
      return settled;
    },
    resolve: (signature) => {
      if (settle()) resolve(signature);
    },
    reject: (error) => {
      if (settle()) reject(error);
    },
  };
  if (signal?.aborted === true) onAbort();
  return { job, result: promise };
}

function withResolvers<Value>(): {
  promise: Promise<Value>;
  resolve: (value: Value) => void;
  reject: (error: unknown) => void;
} {
  let resolve: (value: Value) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<Value>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
