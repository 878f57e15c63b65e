import { SignerError } from "../errors.ts";
import { endedError } from "../signer/endings.ts";
import { onAbort } from "../signer/on-abort.ts";

/** What can end a piece of work before it settles. */
export interface Deadline {
  /** Whole milliseconds, at least 1. */
  readonly deadlineMs: number;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  /** The message of the `timeout` error. Default: `not opened within the deadline of N ms`. */
  readonly message?: string | undefined;
}

/**
 * Runs work until it settles, the deadline passes, or the caller aborts. In the last two cases the signal that the work
 * received aborts. If the work does not end then, it is abandoned and its result is dropped.
 *
 * Rejects with `SignerError` `timeout` at the deadline, with the `endedError` of the caller's reason after an abort, or
 * with the error of the work.
 *
 * @example
 * ```ts
 * import { withinDeadline } from "@signpost/core/adapter";
 *
 * declare function connect(signal: AbortSignal): Promise<string>;
 *
 * const connection = await withinDeadline(connect, { deadlineMs: 5000 });
 * ```
 */
export async function withinDeadline<Result>(
  run: (signal: AbortSignal) => Promise<Result>,
  { deadlineMs, signal: caller, message = `not opened within the deadline of ${deadlineMs} ms` }: Deadline,
): Promise<Result> {
  if (caller?.aborted === true) throw endedError(caller.reason);
  const controller = new AbortController();
  const { signal } = controller;
  const letGo = onAbort(caller, () => controller.abort(endedError(caller?.reason)));
  const timer = setTimeout(() => controller.abort(new SignerError("timeout", message)), deadlineMs);
  try {
    return await new Promise<Result>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      run(signal).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    letGo();
  }
}
