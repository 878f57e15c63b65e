import { isUint8Array } from "node:util/types";
import { ConfigurationError, type SignerError } from "../errors.ts";
import { given } from "../given.ts";
import { copiedBytes } from "../options/copied-bytes.ts";

// A signer may have several places: Regions, HSMs, sessions, clients. A good signature of one place proves nothing about
// another.

// `Symbol.for`, so that two copies of this package agree.
/** Set by an adapter, with `markPlace`. */
const PLACE = Symbol.for("@signpost/core/place");
/** Set by this package on its bytes. They may be changed once a signer that was written by hand has them. */
const MADE_AT = Symbol.for("@signpost/core/made-at");
const BLAME = Symbol.for("@signpost/core/blame");

/** Where a signature was made. Two places are the same if they are the same object. */
export interface Place {
  /** Key URI of the place. */
  readonly uri: string;
}

interface Placed {
  readonly [PLACE]?: Place;
  readonly [MADE_AT]?: Place;
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

/** Where a signature was made, if its signer marked it. Only for bytes that no other code can have changed since. */
export function placeOf(signature: unknown): Place | undefined {
  if (typeof signature !== "object" || signature === null) return undefined;
  const { [PLACE]: own, [MADE_AT]: made } = signature as Placed;
  return own ?? made;
}

/** As `markPlace`, for bytes that belong to this package. Returns anything else as it is. */
export function madeAt<Signature>(signature: Signature, place: Place): Signature {
  if (isUint8Array(signature)) Object.defineProperty(signature, MADE_AT, { value: place, configurable: true });
  return signature;
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

/** What our signers make for one digest while calls with it are under way. */
class FollowedDigest {
  readonly digest: Uint8Array;
  readonly bucket: number;
  calls = 1;
  made: readonly Uint8Array[] = [];
  next: FollowedDigest | undefined;

  constructor(digest: Uint8Array, bucket: number, next: FollowedDigest | undefined) {
    this.digest = digest;
    this.bucket = bucket;
    this.next = next;
  }
}

/**
 * The digests of all calls that are under way, as chains by their first ten bits. By their bytes, since a signer that was written
 * by hand may pass a copy on to signers of ours, and return a copy of what they give, which has no marks. A Map would make the
 * collector copy calls that are over.
 */
interface Following {
  readonly chains: (FollowedDigest | undefined)[];
  /** How many calls there are. */
  calls: number;
}

/** In every copy of this package the same, since a bundle may have several, and signers of one are called by another. */
const FOLLOWING = Symbol.for("@signpost/core/following");
const shared = globalThis as { [FOLLOWING]?: Following };
const following = (shared[FOLLOWING] ??= { chains: Array.from({ length: 1024 }, () => undefined), calls: 0 });

/** What is kept for each call. */
const MAX_MADE = 16;

const bucketOf = (digest: Uint8Array): number => ((digest[0] ?? 0) << 2) | ((digest[1] ?? 0) >> 6);

function findFollowed(digest: Uint8Array, bucket: number): FollowedDigest | undefined {
  let known = following.chains[bucket];
  while (known !== undefined && Buffer.compare(known.digest, digest) !== 0) known = known.next;
  return known;
}

/** Begins a call with a digest that may be passed on to signers of ours. Keeps a copy, since the call may wipe its own. */
export function followDigest(digest: Uint8Array): FollowedDigest {
  const bucket = bucketOf(digest);
  const known = findFollowed(digest, bucket);
  following.calls += 1;
  if (known === undefined) {
    const { chains } = following;
    return (chains[bucket] = new FollowedDigest(new Uint8Array(digest), bucket, chains[bucket]));
  }
  known.calls += 1;
  return known;
}

/** The call is over. */
export function unfollowDigest(digest: FollowedDigest): void {
  following.calls -= 1;
  digest.calls -= 1;
  if (digest.calls > 0) return;
  const { chains } = following;
  const { bucket, next } = digest;
  let before = chains[bucket];
  if (before === digest) {
    chains[bucket] = next;
    return;
  }
  while (before !== undefined && before.next !== digest) before = before.next;
  if (before !== undefined) before.next = next;
}

/**
 * A copy of what the call of the signer with this key URI gave. It has the place that an adapter marked, and the marks of the same
 * bytes that one of our signers made meanwhile. Bytes that passed through our signers and are others may have been changed on
 * their way from any place, so that they have to prove themselves each time: also in memory that still has our marks.
 */
export function followedCopy({ made }: FollowedDigest, signature: unknown, uri: string): unknown {
  if (!isUint8Array(signature)) return signature;
  const { [PLACE]: own, [MADE_AT]: before, [BLAME]: blame } = signature as Placed;
  const same = made.findLast((one) => Buffer.compare(one, signature) === 0);
  if (same === undefined) {
    const isPassedOn = made.length > 0 || before !== undefined || blame !== undefined;
    const place = own ?? (isPassedOn ? { uri } : undefined);
    const copy = copiedBytes(signature);
    return place === undefined ? copy : madeAt(copy, place);
  }
  const copy = copiedSignature(signature, same);
  return own === undefined ? copy : madeAt(copy, own);
}

/**
 * Records what was made for a digest. Returns the same signature. `digest`: a copy from the beginning of the call, since the caller
 * may wipe its own.
 */
export function noteMade(digest: Uint8Array, signature: Uint8Array): Uint8Array {
  if (following.calls === 0) return signature;
  const known = findFollowed(digest, bucketOf(digest));
  if (known === undefined) return signature;
  // A copy, since the caller may change what it gets. A backend may give anything.
  const noted = copiedSignature(signature);
  if (isUint8Array(noted)) known.made = [...known.made.slice(1 - MAX_MADE * known.calls), noted];
  return signature;
}

/** A copy of the bytes, with the marks of `marked`. Anything that is not bytes is returned as it is. */
export function copiedSignature(signature: unknown, marked: unknown = signature): unknown {
  if (!isUint8Array(signature)) return signature;
  const copy = copiedBytes(signature);
  const place = placeOf(marked);
  const blame = blameOf(marked);
  if (copy !== undefined && blame !== undefined) onBadSignature(copy, blame);
  return place === undefined ? copy : madeAt(copy, place);
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
