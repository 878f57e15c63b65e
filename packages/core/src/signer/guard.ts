import { nameSigner, type SignerError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readCallback } from "../options/read-values.ts";
import { type Call, failureOf, openCall, runCall } from "./call.ts";
import type { GuardedSigner, GuardPolicy, Signer, SignOptions } from "./contract.ts";
import { settlingSigner } from "./create.ts";
import { closedError } from "./endings.ts";
import { publishSign, type SignEvent } from "./events.ts";
import { createHedging, type Hedging } from "./hedging.ts";
import { type BackendStatus, createHealthRecord, type SignerStatus, worstStatus } from "./health.ts";
import { InFlight } from "./in-flight.ts";
import { type Inside, insideOf } from "./inside.ts";
import { concurrencyOf } from "./limiter.ts";
import { markGuarded, requireBare } from "./mark.ts";
import { noteMade, type Place, placeOf } from "./places.ts";
import { DEFAULT_CONCURRENCY, type PolicyDefaults, resolvePolicy } from "./policy.ts";

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
  const inside = insideOf(bare);
  const resolved = resolvePolicy(policy, details.defaults ?? {}, inside?.refusesHedging);
  const { hedgeAfterMs } = resolved;
  const hedging = hedgeAfterMs === undefined ? undefined : createHedging(hedgeAfterMs, resolved.limiter);
  inside?.allowOverdue(concurrencyOf(resolved.limiter) ?? DEFAULT_CONCURRENCY);
  const health = createHealthRecord();
  const calls = new InFlight<Call>();
  let closing: Promise<void> | undefined;

  const sign = async (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
    const call = checkedCall(digest, options);
    let error: SignerError | undefined;
    try {
      if (closing !== undefined) call.scope.end(closedError());
      if (call.scope.ending !== undefined) throw call.scope.ending;
      calls.add(call);
      const signature = await runCall(bare, resolved, hedging, call);
      call.place = distinct(placeOf(signature)?.uri ?? call.place);
      health.succeeded();
      return noteMade(call.digest, signature);
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
    for (const call of calls) if (call.attempts === 0) call.scope.end(closedError());
    await calls.none();
    await bare.close();
  };

  const guarded: GuardedSigner = {
    uri: bare.uri,
    publicKey: bare.publicKey,
    sign,
    close: () => (closing ??= closeOnce()),
    health: () => health.read(readStatus(details, inside), readNotes(details, inside, hedging)),
    [Symbol.asyncDispose]: () => guarded.close(),
  };
  const signedBadly = (place: Place, error: SignerError): void => {
    health.failed(error);
    // The first event of the call reported a success.
    publishSign(() => signEvent(bare.uri, { place: distinct(place.uri), ...UNSENT }, error));
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

const UNSENT = { attempts: 0, queueMs: 0, backendMs: 0, hedges: 0, hedgeWon: false };
type Told = Pick<Call, "place" | "attempts" | "queueMs" | "backendMs" | "hedges" | "hedgeWon">;

function signEvent(uri: string, call: Told, error: SignerError | undefined): SignEvent {
  const { attempts, place, queueMs, backendMs, hedges, hedgeWon } = call;
  return {
    uri,
    ...(place === undefined ? {} : { place }),
    attempts,
    queueMs,
    backendMs,
    ...(hedges === 0 ? {} : { hedges, hedgeWon }),
    ...(error === undefined ? {} : { code: error.code }),
  };
}

function readStatus({ status }: GuardDetails, inside: Inside | undefined): BackendStatus {
  const own: BackendStatus = { status: status?.() ?? "ready" };
  return inside === undefined ? own : worstStatus(own, inside.status());
}

function readNotes(
  { notes = [] }: GuardDetails,
  inside: Inside | undefined,
  hedging: Hedging | undefined,
): readonly string[] {
  const left = inside?.leftBehind() ?? 0;
  return [
    ...(typeof notes === "function" ? notes() : notes),
    ...(inside?.notes() ?? []),
    ...(hedging?.notes() ?? []),
    ...(left === 0 ? [] : [`abandoned calls that the backend has not answered: ${left}`]),
  ];
}
