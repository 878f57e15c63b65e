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
 * `verify: "first"` each place is then proven by itself. Gives the same bytes.
 *
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
  if (typeof signature === "object" && signature !== null) {
    Object.defineProperty(signature, PLACE, { value: place, configurable: true });
  }
  return signature;
}

/** Where a signature was made, if its signer said so. */
export function placeOf(signature: unknown): Place | undefined {
  return typeof signature === "object" && signature !== null ? (signature as Placed)[PLACE] : undefined;
}
