import { ArrivalQueue, endedError, onAbort } from "@signpost/core/adapter";
import type { PooledSession } from "./session.ts";

/** Work that waits for a session or runs in one. */
export interface Job {
  /** The caller was released. Later results are dropped. */
  readonly settled: boolean;
  /** Calls back when the caller is released. One listener at a time. */
  onSettled(listener: () => void): void;
  /** Does the work and resolves the caller's promise. Rejects if the work failed, while the caller keeps waiting. */
  run(session: PooledSession): Promise<void>;
  reject(error: unknown): void;
}

/** Jobs that wait for a session, in order of arrival. A job is dropped immediately when its caller has gone. */
export class JobQueue {
  readonly #jobs: ArrivalQueue<Job> = new ArrivalQueue();

  get size(): number {
    return this.#jobs.size;
  }

  add(job: Job): void {
    if (job.settled) return;
    this.#jobs.add(job);
    job.onSettled(() => this.#jobs.drop(job));
  }

  /** Takes the next job. */
  next(): Job | undefined {
    return this.#jobs.next();
  }

  rejectAll(error: unknown): void {
    for (const job of this.#jobs) job.reject(error);
  }
}

/** The caller's promise and the pool's handle for it. An aborted caller is released immediately. */
export function createJob<Value>(
  work: (session: PooledSession) => Promise<Value>,
  signal?: AbortSignal,
): { readonly job: Job; readonly result: Promise<Value> } {
  let resolve: (value: Value) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const result = new Promise<Value>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  let settled = false;
  let listener: () => void = () => {};
  let letGo: () => void = () => {};
  const settle = (): boolean => {
    const first = !settled;
    settled = true;
    letGo();
    if (first) listener();
    return first;
  };
  letGo = onAbort(signal, () => {
    if (settle()) reject(endedError(signal?.reason));
  });
  const job: Job = {
    get settled() {
      return settled;
    },
    onSettled: (onSettled) => {
      listener = onSettled;
    },
    run: async (session) => {
      const value = await work(session);
      if (settle()) resolve(value);
    },
    reject: (error) => {
      if (settle()) reject(error);
    },
  };
  return { job, result };
}
