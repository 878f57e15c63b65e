import { SignerError } from "@signpost/core";
import { endedError } from "@signpost/core/adapter";
import type { GcpKmsCallOptions, GcpKmsClientLike } from "./api.ts";
import type { CallBounds } from "./call-bounds.ts";
import type { Connection } from "./connection.ts";

/**
 * One attempt of one call, bounded in time, credentials included, whatever the client does: only gRPC of 6.x
 * ends the call with the signal.
 *
 * Rejects with what the client threw, or with the `SignerError` of the signal or timeout.
 */
export async function callOnce<T>(
  connection: Connection,
  call: (client: GcpKmsClientLike, options: GcpKmsCallOptions) => Promise<readonly [T, ...unknown[]]>,
  bounds: CallBounds,
): Promise<T> {
  const ending = endingOf(bounds);
  const attempt = async (): Promise<T> => {
    const { client, callOptions } = await connection.ready();
    ending.throwIfEnded();
    const [response] = await call(client, callOptions(bounds));
    // What comes too late is dropped.
    ending.throwIfEnded();
    return response;
  };
  try {
    return await Promise.race([attempt(), ending.reached]);
  } catch (error) {
    throw ending.error ?? error;
  } finally {
    ending.dispose();
  }
}

/** What may end a call from outside, without a second AbortController: the guard has made one for it. */
interface Ending {
  /** Rejects with `error`, `settleMs` after there is one. */
  readonly reached: Promise<never>;
  readonly error: SignerError | undefined;
  throwIfEnded(): void;
  dispose(): void;
}

function endingOf({ timeoutMs, signal, settleMs = 0 }: CallBounds): Ending {
  let error: SignerError | undefined;
  let dispose = (): void => undefined;
  const reached = new Promise<never>((_resolve, reject) => {
    const end = (reason: SignerError): void => {
      error = reason;
      dispose();
      if (settleMs === 0) reject(reason);
      else timer = setTimeout(() => reject(reason), settleMs);
    };
    const onAbort = (): void => end(endedError(signal?.reason));
    let timer = setTimeout(
      () => end(new SignerError("timeout", `no answer from Cloud KMS within ${timeoutMs} ms`)),
      timeoutMs,
    );
    dispose = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
  return {
    reached,
    get error() {
      return error;
    },
    throwIfEnded: () => {
      if (error !== undefined) throw error;
    },
    dispose: () => dispose(),
  };
}
