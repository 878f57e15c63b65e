import { SignerError } from "../errors.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { checkedOptions, copiedDigest } from "./arguments.ts";
import { attempt } from "./attempt.ts";
import { AttemptController } from "./attempt-controller.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { takeSlot } from "./limiter.ts";
import { attemptedPlace } from "./places.ts";
import type { ResolvedPolicy } from "./policy.ts";
import { retryDelayMs } from "./retry.ts";
import { type CallScope, openScope, pause } from "./scope.ts";

/** One call on its way through the guard. */
export interface Call {
  readonly digest: Uint8Array;
  readonly signingInput: Uint8Array | undefined;
  readonly scope: CallScope;
  /** Number of backend calls. With the first one the call is started, and finishes even if the signer is closed. */
  attempts: number;
  /** The error of the last attempt. */
  lastError: SignerError | undefined;
  /** Key URI of the place that made the last attempt, if there are several places. */
  place: string | undefined;
  queueMs: number;
  backendMs: number;
}

export function openCall(uri: string, digest: unknown, options: SignOptions, deadlineMs: number): Call {
  const { signal, signingInput } = checkedOptions(options);
  return {
    digest: copiedDigest(digest),
    signingInput,
    scope: openScope(uri, deadlineMs, signal),
    attempts: 0,
    lastError: undefined,
    place: undefined,
    queueMs: 0,
    backendMs: 0,
  };
}

export async function runCall(signer: Signer, policy: ResolvedPolicy, call: Call): Promise<Uint8Array> {
  const { scope } = call;
  for (;;) {
    // Only for this round: the wait for a slot, and the attempt.
    const controller = new AttemptController();
    const letGo = scope.onEnd((ending) => controller.abort(ending));
    // No await if a slot is free, so that such a call starts synchronously.
    const slot = takeSlot(policy.limiter) ?? policy.limiter.acquire(controller.signal, scope.leftMs());
    const release = typeof slot === "function" ? slot : await queued(slot, call, controller);
    const startedAt = performance.now();
    call.attempts += 1;
    try {
      return await attempt(signer, {
        digest: call.digest,
        signingInput: call.signingInput,
        timeoutMs: policy.attemptTimeoutMs,
        scope,
        controller,
        settled: () => giveBack(release),
      });
    } catch (error) {
      if (scope.ending !== undefined) throw scope.ending;
      if (!(error instanceof SignerError) || !error.transient || call.attempts >= policy.maxAttempts) throw error;
      call.lastError = error;
    } finally {
      letGo();
      call.place = attemptedPlace(controller.madeSignal)?.uri;
      call.backendMs += performance.now() - startedAt;
    }
    await pause(retryDelayMs(call.attempts, call.lastError.code), scope);
  }
}

async function queued(slot: Promise<() => void>, call: Call, controller: AttemptController): Promise<() => void> {
  const startedAt = performance.now();
  const { scope } = call;
  try {
    return await granted(slot, scope, controller);
  } catch (error) {
    // The backend's failure says more than the full queue that prevented another attempt.
    throw scope.ending ?? call.lastError ?? error;
  } finally {
    call.queueMs += performance.now() - startedAt;
  }
}

/** Waits for the slot or the end of the call, since a custom limiter may ignore its signal and never grant one. */
function granted(slot: Promise<() => void>, scope: CallScope, controller: AttemptController): Promise<() => void> {
  return new Promise((resolve, reject) => {
    scope.onEnd((ending) => {
      controller.abort(ending);
      reject(ending);
    });
    Promise.resolve(slot).then((release) => {
      if (typeof release !== "function") reject(new TypeError("expected a function that releases the slot"));
      else if (scope.ending === undefined) resolve(release);
      else giveBack(release);
    }, reject);
  });
}

function giveBack(release: () => void): void {
  try {
    const given: unknown = release();
    if (isThenable(given)) swallowRejection(given);
  } catch {
    // A custom limiter that fails here has lost the slot. The call still returns its signature.
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
