import { nameSigner, SignerError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readCallback } from "../options/read-values.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { checkedOptions, copiedDigest } from "./arguments.ts";
import { attempt } from "./attempt.ts";
import type { GuardedSigner, GuardPolicy, Signer, SignOptions } from "./contract.ts";
import { settlingSigner } from "./create.ts";
import { closedError } from "./endings.ts";
import { publishSign, type SignEvent } from "./events.ts";
import { type BackendStatus, createHealthRecord, type SignerStatus, worstStatus } from "./health.ts";
import { type Inside, insideOf } from "./inside.ts";
import { concurrencyOf } from "./limiter.ts";
import { markGuarded, requireBare } from "./mark.ts";
import { attemptedPlace, type Place, placeOf } from "./places.ts";
import { DEFAULT_CONCURRENCY, type PolicyDefaults, resolvePolicy, type ResolvedPolicy } from "./policy.ts";
import { retryDelayMs } from "./retry.ts";
import { type CallScope, openScope, pause } from "./scope.ts";

/** What an adapter knows about its backend. `notes` and `status` are asked on each `health()`. */
export interface GuardDetails {
  /**
   * For what the policy leaves open, instead of the general defaults: as many calls at once as there are sessions,
   * for instance. A shared limiter in the policy replaces `concurrency` and `maxQueue` here as well.
   */
  readonly defaults?: PolicyDefaults | undefined;
  /** For the operator; never a secret. */
  readonly notes?: readonly string[] | (() => readonly string[]) | undefined;
  /** The adapter's own view, for instance while it reconnects. The worse of this and what the calls showed counts. */
  readonly status?: (() => SignerStatus) | undefined;
}

const POLICY_DEFAULTS: OptionNames<PolicyDefaults> = {
  deadlineMs: true,
  attemptTimeoutMs: true,
  maxAttempts: true,
  concurrency: true,
  maxQueue: true,
};
const DETAILS: OptionNames<GuardDetails> = { defaults: true, notes: true, status: true };

/** One call on its way through the guard. */
interface Call {
  readonly digest: Uint8Array;
  readonly signingInput: Uint8Array | undefined;
  readonly scope: CallScope;
  /** Backend calls made. A call that has made one is started, and finishes even when the signer is closed. */
  attempts: number;
  /** Why the next attempt is made. */
  lastError: SignerError | undefined;
  /** Key URI of the place that made the last attempt, where there are several. */
  place: string | undefined;
  queueMs: number;
  backendMs: number;
}

/**
 * Puts everything that is not the backend's own business around a bare signer: a bounded queue and slots,
 * a timeout for each attempt, retries with jitter for transient errors, one deadline over all of it, a check
 * of length and range of the result, health, and one event per call on the channel `signpost:sign`.
 *
 * - An aborted or timed-out caller is released at once. Its slot comes back when the backend has settled, or a second
 *   later when it has not, and a late result is dropped. When as many calls run past their signal as may run at once
 *   (16 with a limiter of another make), calls reject with `unavailable` until one comes back.
 * - A full queue rejects with `overloaded` at once.
 * - `close()` rejects queued calls with `closed`, waits for started ones, then closes the signer inside.
 *
 * @throws ConfigurationError when the signer is guarded already or the policy is out of bounds.
 * @example
 * ```ts
 * import { guardSigner, type Signer } from "@signpost/core";
 *
 * declare const bare: Signer;
 * const signer = guardSigner(bare, { deadlineMs: 3000, concurrency: 32 });
 * ```
 */
export function guardSigner(signer: Signer, policy: GuardPolicy = {}, details: GuardDetails = {}): GuardedSigner {
  requireBare("signer", signer);
  checkDetails(details);
  const bare = settlingSigner(signer);
  const resolved = resolvePolicy(policy, details.defaults ?? {});
  const inside = insideOf(bare);
  inside?.allowOverdue(concurrencyOf(resolved.limiter) ?? DEFAULT_CONCURRENCY);
  const health = createHealthRecord();
  const calls = new Map<Call, Promise<Uint8Array>>();
  let closing: Promise<void> | undefined;

  const sign = async (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
    const call = openCall(digest, options, resolved.deadlineMs);
    let error: SignerError | undefined;
    try {
      if (closing !== undefined) call.scope.end(closedError());
      if (call.scope.ending !== undefined) throw call.scope.ending;
      const result = runCall(bare, resolved, call);
      calls.set(call, result);
      const signature = await result;
      call.place = distinct(placeOf(signature)?.uri ?? call.place);
      health.succeeded();
      return signature;
    } catch (cause) {
      error = nameSigner(failureOf(call, cause), call.place ?? bare.uri);
      if (error.uri !== undefined && error.uri !== bare.uri) call.place = error.uri;
      // An abort and a close of the caller's own say nothing about the backend.
      if (call.scope.ending === undefined || error.code === "timeout") health.failed(error);
      throw error;
    } finally {
      calls.delete(call);
      call.scope.dispose();
      publishSign(() => signEvent(bare.uri, call, error));
    }
  };

  /** A signer's own sessions are no places to tell of. */
  const distinct = (place: string | undefined): string | undefined => (place === bare.uri ? undefined : place);

  const closeOnce = async (): Promise<void> => {
    for (const call of calls.keys()) if (call.attempts === 0) call.scope.end(closedError());
    await Promise.allSettled(calls.values());
    await bare.close();
  };

  const guarded: GuardedSigner = {
    uri: bare.uri,
    publicKey: bare.publicKey,
    sign,
    close: () => (closing ??= closeOnce()),
    health: () => health.read(readStatus(details, inside), readNotes(details, inside)),
    [Symbol.asyncDispose]: () => guarded.close(),
  };
  const signedBadly = (place: Place, error: SignerError): void => {
    health.failed(error);
    inside?.signedBadly?.(place, error);
    // The event of the call told of a success.
    publishSign(() =>
      signEvent(bare.uri, { place: distinct(place.uri), attempts: 0, queueMs: 0, backendMs: 0 }, error),
    );
  };
  return Object.freeze(markGuarded(guarded, { signedBadly }));
}

function checkDetails(details: GuardDetails): void {
  assertOptions("details", details, DETAILS);
  const { defaults, notes, status } = details;
  if (defaults !== undefined) assertOptions<PolicyDefaults>("details.defaults", defaults, POLICY_DEFAULTS);
  if (!Array.isArray(notes)) readCallback("details.notes", notes);
  readCallback("details.status", status);
}

function openCall(digest: unknown, options: SignOptions, deadlineMs: number): Call {
  const { signal, signingInput } = checkedOptions(options);
  return {
    digest: copiedDigest(digest),
    signingInput,
    scope: openScope(deadlineMs, signal),
    attempts: 0,
    lastError: undefined,
    place: undefined,
    queueMs: 0,
    backendMs: 0,
  };
}

async function runCall(signer: Signer, policy: ResolvedPolicy, call: Call): Promise<Uint8Array> {
  const { scope } = call;
  for (;;) {
    // Of this round alone: the wait for a slot, and the attempt.
    const controller = new AbortController();
    const letGo = scope.onEnd((ending) => controller.abort(ending));
    // Without an await where a slot is free: such a call is started as soon as it is made.
    const slot = policy.limiter.acquire(controller.signal);
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
      call.place = attemptedPlace(controller.signal)?.uri;
      call.backendMs += performance.now() - startedAt;
    }
    await pause(retryDelayMs(call.attempts, call.lastError.code), scope);
  }
}

async function queued(slot: Promise<() => void>, call: Call, controller: AbortController): Promise<() => void> {
  const startedAt = performance.now();
  const { scope } = call;
  try {
    return await granted(slot, scope, controller);
  } catch (error) {
    // The backend's failure says more than the full queue that kept us from another attempt.
    throw scope.ending ?? call.lastError ?? error;
  } finally {
    call.queueMs += performance.now() - startedAt;
  }
}

/** The slot, or what ends the call: a limiter of the caller's own may never grant one, whatever its signal says. */
function granted(slot: Promise<() => void>, scope: CallScope, controller: AbortController): Promise<() => void> {
  return new Promise((resolve, reject) => {
    scope.onEnd((ending) => {
      controller.abort(ending);
      reject(ending);
    });
    Promise.resolve(slot).then((release) => {
      if (typeof release !== "function") reject(new TypeError("expected a function that gives the slot back"));
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
    // A limiter of the caller's own that fails here has lost the slot. The signature is made all the same.
  }
}

function failureOf({ scope, lastError }: Call, cause: unknown): SignerError {
  // A deadline that ran out between attempts says less than the attempt before it.
  if (scope.ending?.code === "timeout" && lastError !== undefined) {
    return new SignerError("timeout", scope.ending.message, { cause: lastError });
  }
  // Only a broken limiter of the caller's own can bring anything else here.
  return cause instanceof SignerError ? cause : new SignerError("integrity", "the limiter failed", { cause });
}

type Told = Pick<Call, "place" | "attempts" | "queueMs" | "backendMs">;

function signEvent(uri: string, call: Told, error: SignerError | undefined): SignEvent {
  const { attempts, place, queueMs, backendMs } = call;
  return {
    uri,
    ...(place === undefined ? {} : { place }),
    attempts,
    queueMs,
    backendMs,
    ...(error === undefined ? {} : { code: error.code }),
  };
}

function readStatus({ status }: GuardDetails, inside: Inside | undefined): BackendStatus {
  const own: BackendStatus = { status: status?.() ?? "ready" };
  return inside === undefined ? own : worstStatus(own, inside.status());
}

function readNotes({ notes = [] }: GuardDetails, inside: Inside | undefined): readonly string[] {
  const left = inside?.leftBehind() ?? 0;
  return [
    ...(typeof notes === "function" ? notes() : notes),
    ...(inside?.notes() ?? []),
    ...(left === 0 ? [] : [`${left} calls have not come back from the backend, and were left behind`]),
  ];
}
