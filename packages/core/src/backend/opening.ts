import { nameSigner, SignerError } from "../errors.ts";
import { readMilliseconds, readSignal } from "../options/read-values.ts";
import type { GuardPolicy } from "../signer/contract.ts";
import { onOwnAbort } from "../signer/on-abort.ts";
import { resolvePolicy } from "../signer/policy.ts";
import { withinDeadline } from "./within-deadline.ts";

/** The options of an adapter's open function that limit how long it takes. */
export interface OpeningOptions {
  /** The guard's policy, or `false` for a bare signer. */
  readonly policy?: GuardPolicy | false | undefined;
  /** Time limit for opening, all attempts together. Milliseconds, 1 to 2,147,483,647. Default: the policy's `deadlineMs`. */
  readonly openDeadlineMs?: number | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** How long opening may take, and how many attempts it may make. */
export interface OpeningBounds {
  /** Time limit for all attempts together. Milliseconds. */
  readonly deadlineMs: number;
  /** Time limit for one attempt, and for a call of a signer without a guard. Milliseconds. */
  readonly attemptTimeoutMs: number;
  /** Number of attempts, including the first. */
  readonly maxAttempts: number;
  /** The caller's signal. */
  readonly signal: AbortSignal | undefined;
}

/** Time limit for one call of a bare signer. Milliseconds. */
const UNGUARDED_ATTEMPT_MS = 5000;

/**
 * The bounds of opening: the policy's limits for a signature. Without a guard (`policy: false`) one attempt may take 5 s,
 * and the policy's defaults apply: 5 s in all, 3 attempts.
 *
 * @throws ConfigurationError for an invalid policy, deadline or signal.
 * @example
 * ```ts
 * import { openingBounds } from "@signpost/core/adapter";
 *
 * const bounds = openingBounds({ policy: { maxAttempts: 2 }, openDeadlineMs: 10_000 });
 * ```
 */
export function openingBounds({ policy = {}, openDeadlineMs, signal }: OpeningOptions): OpeningBounds {
  const guarded = policy !== false;
  const { deadlineMs, attemptTimeoutMs, maxAttempts } = resolvePolicy(policy === false ? {} : policy, {});
  return {
    deadlineMs: openDeadlineMs === undefined ? deadlineMs : readMilliseconds("openDeadlineMs", openDeadlineMs),
    attemptTimeoutMs: guarded ? attemptTimeoutMs : UNGUARDED_ATTEMPT_MS,
    maxAttempts,
    signal: readSignal("signal", signal),
  };
}

/** The limits of one backend call. */
export interface CallBounds {
  /** Aborts at the end of the call's time, at the deadline, and when the caller's signal aborts. */
  readonly signal: AbortSignal;
  /** The call's time as a number, for clients with a timeout option. Whole milliseconds, at least 1. */
  readonly timeoutMs: number;
}

/** The pauses after the first two attempts add up to more than the second that a gRPC channel waits to reconnect. */
const FIRST_PAUSE_MS = 400;
const MAX_PAUSE_MS = 1000;
/** Time reserved before the deadline for a last look at a key that is still being created. */
const LAST_ATTEMPT_MS = 200;
/** Anything shorter is not worth a pause. */
const SHORTEST_PAUSE_MS = 10;

/**
 * Asks a backend for its key, and asks again after a transient error. It stops after `maxAttempts` failures or at the
 * deadline, whichever comes first. If `isPending` returns true for an error, the key is still being created. That failure
 * does not count as an attempt, and the wait ends at the deadline.
 *
 * Rejects with the last failure. If the deadline cut the last attempt short, it rejects with the failure before that,
 * which says more.
 *
 * @example
 * ```ts
 * import { openingBounds, retryOpening, type CallBounds } from "@signpost/core/adapter";
 *
 * declare function readPublicKey(attempt: CallBounds): Promise<Uint8Array>;
 *
 * const spki = await retryOpening(readPublicKey, openingBounds({}));
 * ```
 */
export async function retryOpening<Result>(
  attempt: (bounds: CallBounds) => Promise<Result>,
  bounds: OpeningBounds,
  isPending: (error: SignerError) => boolean = () => false,
): Promise<Result> {
  const until = performance.now() + bounds.deadlineMs;
  let failures = 0;
  let reason: SignerError | undefined;

  const tryOnce = (signal: AbortSignal): Promise<Result> => {
    const timeoutMs = Math.max(1, Math.ceil(Math.min(bounds.attemptTimeoutMs, until - performance.now())));
    const message = `no answer within ${timeoutMs} ms`;
    return withinDeadline((ending) => attempt({ signal: ending, timeoutMs }), {
      deadlineMs: timeoutMs,
      signal,
      message,
    });
  };
  /** How long to wait before the next attempt. Throws if there is no next attempt. */
  const pauseAfter = (error: unknown, pauseMs: number, leftMs: number): number => {
    if (!(error instanceof SignerError) || !error.transient) throw error;
    if (error.code !== "timeout" || leftMs >= bounds.attemptTimeoutMs || reason === undefined) reason = error;
    const waits = isPending(error);
    if (!waits) failures += 1;
    const latestMs = until - performance.now() - (waits ? LAST_ATTEMPT_MS : 0);
    // A key that is still being created gets a last look shortly before the deadline.
    const nextMs = waits ? Math.min(pauseMs, latestMs) : pauseMs;
    if (failures >= bounds.maxAttempts || nextMs > latestMs || nextMs < SHORTEST_PAUSE_MS) throw reason;
    return nextMs;
  };
  const run = async (signal: AbortSignal): Promise<Result> => {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const leftMs = until - performance.now();
      try {
        return await tryOnce(signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        await pause(pauseAfter(error, pauseMs, leftMs), signal);
      }
    }
  };
  try {
    return await withinDeadline(run, bounds);
  } catch (error) {
    // The deadline itself. The failure before it says more.
    throw error instanceof SignerError && error.code === "timeout" ? (reason ?? error) : error;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      letGo();
      resolve();
    }, ms);
    const letGo = onOwnAbort(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/**
 * The error of an opening, or of a list of versions, with the key's URI. A time limit does not know the key, so the message of a
 * `timeout` begins with the URI. The backend's other errors name the key themselves.
 *
 * @example
 * ```ts
 * import { nameOpening } from "@signpost/core/adapter";
 *
 * declare function list(): Promise<readonly string[]>;
 *
 * const versions = await list().catch((error: unknown) => {
 *   throw nameOpening(error, "example:///op");
 * });
 * ```
 */
export function nameOpening(error: unknown, uri: string): unknown {
  const isNamed = !(error instanceof SignerError) || error.code !== "timeout" || error.uri !== undefined;
  if (isNamed) return nameSigner(error, uri);
  return new SignerError(error.code, `${uri}: ${error.message}`, { cause: error.cause, uri });
}
