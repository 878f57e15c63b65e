import { withinDeadline } from "../backend/within-deadline.ts";

/** Longer than any signature takes. */
const DEADLINE_MS = 60_000;

/**
 * For the hook of another library, which has no signal. A signer without a guard may never answer, and then each request would
 * wait for ever. The signal also bounds the calls that such a signer has not answered.
 */
export function withinHookDeadline<Result>(sign: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  return withinDeadline(sign, {
    deadlineMs: DEADLINE_MS,
    message: `the key did not sign within ${DEADLINE_MS} ms`,
  });
}
