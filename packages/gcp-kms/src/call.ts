import { ConfigurationError, endedError, SignerError } from "@signpost/core";
import type { GcpKmsCallOptions, GcpKmsClient } from "./api.ts";
import type { Connection } from "./connection.ts";

export interface CallBounds {
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * One attempt of one call, bounded in time, credentials included. The caller is released by its signal or
 * the timeout whatever the client does: only gRPC of 6.x ends the call as well.
 *
 * Rejects with what the client threw, or with the `SignerError` of the signal or timeout.
 */
export async function callOnce<T>(
  connection: Connection,
  call: (client: GcpKmsClient, options: GcpKmsCallOptions) => Promise<readonly [T, ...unknown[]]>,
  { timeoutMs, signal }: CallBounds,
): Promise<T> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(endedError(signal?.reason));
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => controller.abort(new SignerError("timeout", `no answer from Cloud KMS within ${timeoutMs} ms`)),
    timeoutMs,
  );
  const attempt = async (): Promise<T> => {
    const { client, callOptions } = await connection.ready();
    controller.signal.throwIfAborted();
    const [response] = await call(client, callOptions(timeoutMs, controller.signal));
    return response;
  };
  try {
    return await Promise.race([attempt(), whenAborted(controller.signal)]);
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

// The longest delay that a Node timer takes; a longer one fires at once.
const MAX_TIMER_MS = 2_147_483_647;

/** A bound in time that a timer can keep. */
export function milliseconds(argument: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= MAX_TIMER_MS) return value;
  throw new ConfigurationError(argument, `expected a whole number of milliseconds from 1 to ${MAX_TIMER_MS}`);
}
