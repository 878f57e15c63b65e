import { SignerError } from "../errors.ts";
import { checkedOptions, copiedDigest } from "./arguments.ts";
import { attempt, type AttemptInput } from "./attempt.ts";
import { AttemptController } from "./attempt-controller.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { hedgedAttempt } from "./hedged-attempt.ts";
import type { Hedging } from "./hedging.ts";
import type { InFlightItem } from "./in-flight.ts";
import { acquireUntil } from "./limiter.ts";
import { attemptedPlace } from "./places.ts";
import type { ResolvedPolicy } from "./policy.ts";
import { retryDelayMs } from "./retry.ts";
import { CallScope, pause } from "./scope.ts";
import { giveBack, granted } from "./slot.ts";

/** One call on its way through the guard. */
export interface Call extends InFlightItem {
  readonly digest: Uint8Array;
  readonly signingInput: Uint8Array | undefined;
  readonly scope: CallScope;
  /** Number of attempts, without the hedge. With the first one the call is started, and finishes even if the signer is closed. */
  attempts: number;
  /** The error of the last attempt. */
  lastError: SignerError | undefined;
  /** Key URI of the place that made the last attempt, if there are several places. */
  place: string | undefined;
  queueMs: number;
  backendMs: number;
  /** Number of backend calls besides the attempts. A call has one hedge at most. */
  hedges: number;
  /** Whether the signature came from the hedge. */
  hedgeWon: boolean;
}

export function openCall(uri: string, digest: unknown, options: SignOptions, deadlineMs: number): Call {
  const { signal, signingInput } = checkedOptions(options);
  return {
    index: -1,
    digest: copiedDigest(digest),
    signingInput,
    scope: new CallScope(uri, deadlineMs, signal),
    attempts: 0,
    lastError: undefined,
    place: undefined,
    queueMs: 0,
    backendMs: 0,
    hedges: 0,
    hedgeWon: false,
  };
}

/** `hedging`: undefined if the policy has none. */
export async function runCall(
  signer: Signer,
  policy: ResolvedPolicy,
  hedging: Hedging | undefined,
  call: Call,
): Promise<Uint8Array> {
  const { scope } = call;
  for (;;) {
    // Only for this round: the wait for a slot, and the attempt.
    const controller = new AttemptController();
    scope.onEnd((ending) => controller.abort(ending));
    // No await if a slot is free, so that such a call starts synchronously.
    const slot = acquireUntil(policy.limiter, controller, scope.leftMs());
    const release = typeof slot === "function" ? slot : await queued(slot, call, controller);
    const startedAt = performance.now();
    call.attempts += 1;
    if (hedging !== undefined || policy.attemptTimeoutMs >= scope.leftMs()) scope.watchDeadline();
    try {
      const input: AttemptInput = {
        digest: call.digest,
        signingInput: call.signingInput,
        timeoutMs: policy.attemptTimeoutMs,
        scope,
        controller,
        settled: () => giveBack(release),
      };
      if (hedging === undefined) return await attempt(signer, input);
      return await hedgedAttempt(signer, input, call, hedging, policy.limiter);
    } catch (error) {
      if (scope.ending !== undefined) throw scope.ending;
      if (!(error instanceof SignerError) || !error.transient || call.attempts >= policy.maxAttempts) throw error;
      call.lastError = error;
    } finally {
      scope.letGo();
      call.place = attemptedPlace(controller.madeSignal)?.uri;
      call.backendMs += performance.now() - startedAt;
    }
    await pause(retryDelayMs(call.attempts, call.lastError.code), scope);
  }
}

async function queued(slot: Promise<() => void>, call: Call, controller: AttemptController): Promise<() => void> {
  const startedAt = performance.now();
  const { scope } = call;
  scope.watchDeadline();
  try {
    return await granted(slot, scope, controller);
  } catch (error) {
    // The backend's failure says more than the full queue that prevented another attempt.
    throw scope.ending ?? call.lastError ?? error;
  } finally {
    call.queueMs += performance.now() - startedAt;
  }
}

export function failureOf({ scope, lastError }: Call, cause: unknown): SignerError {
  // If the deadline ran out between attempts, the error of the last attempt says more.
  if (scope.ending?.code === "timeout" && lastError !== undefined) {
    return new SignerError("timeout", scope.ending.message, { cause: lastError });
  }
  // Only a broken custom limiter can cause anything else.
  return cause instanceof SignerError ? cause : new SignerError("integrity", "the limiter failed", { cause });
}
