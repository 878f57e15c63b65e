import { nameSigner, SignerError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readCallback } from "../options/read-values.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { checkedOptions, copiedDigest } from "./arguments.ts";
import { attempt } from "./attempt.ts";
import { AttemptController } from "./attempt-controller.ts";
import type { GuardedSigner, GuardPolicy, Signer, SignOptions } from "./contract.ts";
import { settlingSigner } from "./create.ts";
import { closedError } from "./endings.ts";
import { publishSign, type SignEvent } from "./events.ts";
import { type BackendStatus, createHealthRecord, type SignerStatus, worstStatus } from "./health.ts";
import { type Inside, insideOf } from "./inside.ts";
import { concurrencyOf, takeSlot } from "./limiter.ts";
import { markGuarded, requireBare } from "./mark.ts";
import { attemptedPlace, type Place, placeOf } from "./places.ts";
import { DEFAULT_CONCURRENCY, type PolicyDefaults, resolvePolicy, type ResolvedPolicy } from "./policy.ts";
import { retryDelayMs } from "./retry.ts";
import { type CallScope, openScope, pause } from "./scope.ts";

/** What an adapter knows about its backend. Each `health()` calls `notes` and `status`. */
export interface GuardDetails {
  /**
   * The adapter's defaults for the policy, instead of the general ones. For example, as many concurrent calls as there are
   * sessions. A shared limiter in the policy also replaces `concurrency` and `maxQueue` here.
   */
  readonly defaults?: PolicyDefaults | undefined;
  /** Notes for the operator, never a secret. */
  readonly notes?: readonly string[] | (() => readonly string[]) | undefined;
  /** The status as the adapter sees it, for example while it reconnects. The worse of this and the calls' status counts. */
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
  /** Number of backend calls. With the first one the call is started, and finishes even if the signer is closed. */
  attempts: number;
  /** The error of the last attempt. */
  lastError: SignerError | undefined;
  /** Key URI of the place that made the last attempt, if there are several places. */
  place: string | undefined;
  queueMs: number;
  backendMs: number;
}

/**
 * Puts a guard around a bare signer: a bounded queue and slots, a timeout for each attempt, retries with jitter for
 * transient errors, and one deadline for all of that. It also checks the length and range of the result, keeps track of
 * the health, and publishes one event per call on the channel `signpost:sign`.
 *
 * - A call that is aborted or times out rejects immediately. Its slot is free again when the backend has settled, or a
 *   second later at the latest, and a late result is dropped. When `concurrency` calls (16 with a custom limiter) are
 *   unsettled after their signal, new calls reject with `unavailable` until one of them settles.
 * - If the queue is full, calls reject with `overloaded` immediately.
 * - `close()` rejects queued calls with `closed`, waits for started ones, then closes the bare signer.
 *
 * @throws ConfigurationError if the signer is already guarded, or the policy is out of bounds.
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
    const call = checkedCall(digest, options);
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
      // An abort or close by the caller says nothing about the backend.
      if (call.scope.ending === undefined || error.code === "timeout") health.failed(error);
      throw error;
    } finally {
      calls.delete(call);
      call.scope.dispose();
      publishSign(() => signEvent(bare.uri, call, error));
    }
  };

  /** An invalid argument is no call: the signer was not used. */
  const checkedCall = (digest: Uint8Array, options: SignOptions): Call => {
    try {
      return openCall(bare.uri, digest, options, resolved.deadlineMs);
    } catch (error) {
      throw nameSigner(error, bare.uri);
    }
  };

  /** The sessions of one signer have its URI, and do not count as places in an event. */
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
    // The first event of the call reported a success.
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

function openCall(uri: string, digest: unknown, options: SignOptions, deadlineMs: number): Call {
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

async function runCall(signer: Signer, policy: ResolvedPolicy, call: Call): Promise<Uint8Array> {
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

function failureOf({ scope, lastError }: Call, cause: unknown): SignerError {
  // If the deadline ran out between attempts, the error of the last attempt says more.
  if (scope.ending?.code === "timeout" && lastError !== undefined) {
    return new SignerError("timeout", scope.ending.message, { cause: lastError });
  }
  // Only a broken custom limiter can cause anything else.
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
    ...(left === 0 ? [] : [`abandoned calls that the backend has not answered: ${left}`]),
  ];
}
