import { isUint8Array } from "node:util/types";
import { ConfigurationError } from "../errors.ts";
import { copiedBytes } from "../options/copied-bytes.ts";

// A signer may sign in several places: Regions, HSMs, sessions, clients. What one place proved says nothing of another.

// `Symbol.for`, so that two copies of this package agree.
const PLACE = Symbol.for("@signpost/core/place");

/** Where a signature was made. Two are the same place when they are the same object. */
export interface Place {
  /** Key URI of the place. */
  readonly uri: string;
}

interface Placed {
  readonly [PLACE]?: Place;
}

/**
 * Says of a signature where it was made, out of sight: for signers whose place may change between two signatures. With
 * `verify: "first"` each place is then proven by itself. Gives the same bytes. Mark bytes that only this call has: a
 * buffer that is used again would carry its mark into another signature.
 *
 * @throws ConfigurationError for a place that is no object.
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
    throw new ConfigurationError("place", "expected an object with a uri");
  if (typeof signature === "object" && signature !== null) {
    Object.defineProperty(signature, PLACE, { value: place, configurable: true });
  }
  return signature;
}

/** Where a signature was made, if its signer said so. */
export function placeOf(signature: unknown): Place | undefined {
  return typeof signature === "object" && signature !== null ? (signature as Placed)[PLACE] : undefined;
}

/** A copy of bytes, with the mark of where they were made. Anything that cannot be copied as it is. */
export function copiedSignature(signature: unknown): unknown {
  if (!isUint8Array(signature)) return signature;
  const copy = copiedBytes(signature);
  const place = placeOf(signature);
  return place === undefined ? copy : markPlace(copy, place);
}

/** Keyed by the signal of an attempt: where it was made. Set by the signer that chose the place. */
const attempted = new WeakMap<AbortSignal, Place>();

/** Says where an attempt is made before its outcome is known: one that times out has no other trace. */
export function notePlace(signal: AbortSignal | undefined, place: Place): void {
  if (signal !== undefined) attempted.set(signal, place);
}

/** Where the attempt with this signal was made last, if its signer said so. */
export function attemptedPlace(signal: AbortSignal): Place | undefined {
  return attempted.get(signal);
}
