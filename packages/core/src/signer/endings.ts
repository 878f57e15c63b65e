import { SignerError } from "../errors.ts";

export function abortedError(reason: unknown): SignerError {
  return new SignerError("aborted", "the caller aborted the call", { cause: reason });
}

/**
 * The error of a call on a signer that was closed.
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
 * The `SignerError` that a call rejects with once its signal has aborted: the guard's own reason as it is
 * (`timeout`, `closed`), any other reason as the cause of `aborted`.
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
