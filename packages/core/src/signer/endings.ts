import { SignerError } from "../errors.ts";

export function abortedError(reason: unknown): SignerError {
  return new SignerError("aborted", "the caller aborted the call", { cause: reason });
}

/**
 * The error of a call on a closed signer.
 *
 * @example
 * ```ts
 * import { closedError } from "@signpost/core/adapter";
 *
 * export const refuse = async (): Promise<never> => {
 *   throw closedError();
 * };
 * ```
 */
export function closedError(): SignerError {
  return new SignerError("closed", "the signer is closed");
}

/**
 * The `SignerError` that a call rejects with after its signal has aborted. A `SignerError` as the reason (the guard's
 * `timeout` or `closed`) is returned as it is. Any other reason becomes the cause of `aborted`.
 *
 * @example
 * ```ts
 * import { endedError } from "@signpost/core/adapter";
 *
 * export function throwIfEnded(signal: AbortSignal): void {
 *   if (signal.aborted) throw endedError(signal.reason);
 * }
 * ```
 */
export function endedError(reason: unknown): SignerError {
  return reason instanceof SignerError ? reason : abortedError(reason);
}

/**
 * Whether a signal has ended a call because its time was over. A caller that gives up says nothing about the service or
 * about the connection.
 *
 * @example
 * ```ts
 * import { isOutOfTime } from "@signpost/core/adapter";
 *
 * declare function closeIdleConnections(): void;
 *
 * export function onFailure(signal: AbortSignal): void {
 *   if (isOutOfTime(signal)) closeIdleConnections();
 * }
 * ```
 */
export function isOutOfTime(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && endedError(signal.reason).code === "timeout";
}
