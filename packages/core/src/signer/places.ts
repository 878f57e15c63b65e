import { isUint8Array } from "node:util/types";
import { ConfigurationError, type SignerError } from "../errors.ts";
import { given } from "../given.ts";
import { copiedBytes } from "../options/copied-bytes.ts";

// A signer may have several places: Regions, HSMs, sessions, clients. A good signature of one place proves nothing about
// another.

// `Symbol.for`, so that two copies of this package agree.
const PLACE = Symbol.for("@signpost/core/place");
const BLAME = Symbol.for("@signpost/core/blame");

/** Where a signature was made. Two places are the same if they are the same object. */
export interface Place {
  /** Key URI of the place. */
  readonly uri: string;
}

interface Placed {
  readonly [PLACE]?: Place;
  readonly [BLAME]?: Blame;
}

/** Called with the error if a signature does not verify. */
type Blame = (error: SignerError) => void;

/**
 * Attaches a hidden mark to a signature that says where it was made. It is for signers that may change their place between
 * two signatures. With `verify: "first"`, each place then has to prove itself. Returns the same bytes. Only mark bytes that
 * belong to this call: a reused buffer would keep its mark for another signature.
 *
 * @throws ConfigurationError for a place that is not an object.
 * @example
 * ```ts
 * import { markPlace } from "@signpost/core/adapter";
 *
 * declare function signAt(host: string, digest: Uint8Array): Promise<Uint8Array>;
 * const standby = { uri: "example:standby" };
 *
 * export const sign = async (digest: Uint8Array): Promise<Uint8Array> =>
 *   markPlace(await signAt("standby", digest), standby);
 * ```
 */
export function markPlace<Signature>(signature: Signature, place: Place): Signature {
  if (typeof place !== "object" || place === null)
    throw new ConfigurationError("place", `expected an object with a uri, got ${given(place)}`);
  if (typeof signature === "object" && signature !== null) {
    Object.defineProperty(signature, PLACE, { value: place, configurable: true });
  }
  return signature;
}

/** Where a signature was made, if its signer marked it. */
export function placeOf(signature: unknown): Place | undefined {
  return typeof signature === "object" && signature !== null ? (signature as Placed)[PLACE] : undefined;
}

/**
 * Adds what to do if this signature does not verify. It travels with the bytes, so that each failover on their way hears of
 * it, also one inside another failover, or inside a signer that was written by hand.
 */
export function onBadSignature(signature: Uint8Array, blame: Blame): void {
  const inner = blameOf(signature);
  const value: Blame = (error) => {
    inner?.(error);
    blame(error);
  };
  Object.defineProperty(signature, BLAME, { value, configurable: true });
}

/** What to call if the signature does not verify. */
export function blameOf(signature: unknown): Blame | undefined {
  return typeof signature === "object" && signature !== null ? (signature as Placed)[BLAME] : undefined;
}

/** What our signers last made for digests that other signers passed on to them, and that may be passed on to several of ours. */
const made = new WeakMap<Uint8Array, readonly Uint8Array[]>();

/** Of one digest. A caller may use one buffer for all its digests. */
const MAX_MADE = 16;

/** Records what was made for a caller's digest. Returns the same signature. */
export function noteMade(digest: Uint8Array, signature: Uint8Array): Uint8Array {
  if (isUint8Array(digest)) made.set(digest, [...(made.get(digest) ?? []).slice(1 - MAX_MADE), signature]);
  return signature;
}

/**
 * A copy of the bytes, with their marks. Anything that is not bytes is returned as it is. `digest` is what the signer got: one
 * that was written by hand may ask a signer of ours, and return a copy of the answer, which has no marks.
 */
export function copiedSignature(signature: unknown, digest?: Uint8Array): unknown {
  if (!isUint8Array(signature)) return signature;
  const copy = copiedBytes(signature);
  const marked = markedOf(signature, digest);
  const place = placeOf(marked);
  const blame = blameOf(marked);
  if (copy !== undefined && blame !== undefined) onBadSignature(copy, blame);
  return place === undefined ? copy : markPlace(copy, place);
}

function markedOf(signature: Uint8Array, digest: Uint8Array | undefined): Uint8Array {
  if (digest === undefined || placeOf(signature) !== undefined) return signature;
  return made.get(digest)?.findLast((known) => Buffer.compare(known, signature) === 0) ?? signature;
}

/** The place of each attempt, by its signal. Set by the signer that chose the place. */
const attempted = new WeakMap<AbortSignal, Place>();

/** Records the place of an attempt before its outcome is known. An attempt that times out leaves no other trace. */
export function notePlace(signal: AbortSignal | undefined, place: Place): void {
  if (signal !== undefined) attempted.set(signal, place);
}

/** The last place of the attempt with this signal, if its signer recorded it. */
export function attemptedPlace(signal: AbortSignal | undefined): Place | undefined {
  return signal === undefined ? undefined : attempted.get(signal);
}
