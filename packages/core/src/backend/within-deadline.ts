import { SignerError } from "../errors.ts";
import { endedError } from "../signer/endings.ts";
import { onAbort } from "../signer/on-abort.ts";

/** What ends a piece of work from outside. */
export interface Deadline {
  /** Whole milliseconds, from 1. */
  readonly deadlineMs: number;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  /** The message when the time is over. Default: `not opened within the deadline of N ms`. */
  readonly message?: string | undefined;
}

/**
 * Runs work until it settles, the time is over, or the caller aborts. The work gets a signal that aborts in the last two
 * cases. If it does not end then, it is left behind and its result is dropped.
 *
 * Rejects with `SignerError`: `timeout` when the time is over, else what `endedError` makes of the caller's reason; and
 * with whatever the work rejects with.
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
