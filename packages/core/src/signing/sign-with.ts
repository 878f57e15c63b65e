import { assertRawSignature } from "../encoding/ecdsa-signature.ts";
import { sha256 } from "../encoding/sha256.ts";
import { ConfigurationError, nameSigner, SignerError } from "../errors.ts";
import type { ActiveKey } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { copiedBytes } from "../options/copied-bytes.ts";
import { given } from "../given.ts";
import { readChoice, readSignal } from "../options/read-values.ts";
import { CallerEnding } from "../signer/attempt-controller.ts";
import type { Signer, SignOptions } from "../signer/contract.ts";
import { endedError } from "../signer/endings.ts";
import { insideOf } from "../signer/inside.ts";
import { isGuarded, reportBadSignature } from "../signer/mark.ts";
import { blameOf, followDigest, followedCopy, type Place, placeOf, unfollowDigest } from "../signer/places.ts";
import { createSettling, type Settling } from "../signer/settling.ts";
import { untilAborted } from "../signer/until-aborted.ts";
import { isValid, verificationOf } from "./verification.ts";

/** Options of `signWith`, which `signJws` and `signJwt` also accept. */
export interface SignWithOptions {
  /**
   * `"always"` (default) verifies each signature, which takes 0.1 ms of processor time after a KMS call. `"first"` stops
   * after the first good signature of the entry, which also proves a `publicKey` that you passed. If the signer has several
   * places (`failoverSigner`), it verifies until each place has made one. After a bad signature, it starts again.
   */
  readonly verify?: "always" | "first" | undefined;
  /** Aborts the call, which then rejects with `SignerError` `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Signs `signingInput` with exactly this entry. It hashes the input (SHA-256), has the digest signed, and verifies the
 * signature with the entry's published key. Resolves with 64 bytes r‖s (RFC 7518 section 3.4).
 *
 * @throws SignerError `bad_signature` if the signature does not verify (the signer's health shows it too), and whatever the
 * signer rejects with. ConfigurationError for an invalid argument, EncodingError for a `publicKey` that is none.
 * @example
 * ```ts
 * import { signWith, type KeySet } from "@signpost/core";
 *
 * declare const keys: KeySet;
 * const signature = await signWith(keys.active, new TextEncoder().encode("header.payload"));
 * ```
 */
export async function signWith(
  entry: ActiveKey,
  signingInput: Uint8Array,
  options: SignWithOptions = {},
): Promise<Uint8Array> {
  if (typeof entry?.signer?.sign !== "function") {
    throw new ConfigurationError("entry", `expected the active key of a set: keys.active, got ${given(entry)}`);
  }
  // A copy, so that the bytes that are verified are the bytes that were hashed, even if the caller or the signer changes
  // its buffer meanwhile.
  const input = copiedBytes(signingInput);
  if (input === undefined) {
    throw new ConfigurationError("signingInput", `expected a Uint8Array, got ${given(signingInput)}`);
  }
  assertOptions("options", options, SIGN_WITH_OPTIONS);
  return signInput(entry, input, options);
}

const MODES = ["always", "first"] as const;

/** Same as `signWith`, for options whose names were checked. */
export async function signInput(entry: ActiveKey, input: Uint8Array, options: SignWithOptions): Promise<Uint8Array> {
  const mode = options.verify === undefined ? "always" : readChoice("verify", options.verify, MODES);
  const verification = verificationOf(entry);
  verification.inFlight += 1;
  try {
    const digest = sha256(input);
    const own = await call(entry.signer, digest, input, options.signal);
    const place = placeOf(own) ?? entry.signer;
    const signature = requireSignature(own, entry, place);
    const { proven } = verification;
    if (mode === "always" || !proven.has(place)) {
      const valid = isValid(input, signature, verification);
      if (!(typeof valid === "boolean" ? valid : await valid)) {
        throw badSignature(entry, signature, place, "does not verify against the published key of its kid");
      }
      // Proves nothing if a bad one was found meanwhile, since the set was replaced then.
      proven.add(place);
    }
    return signature;
  } catch (error) {
    // Each place is proven only until there is a bad signature, no matter who finds it, and in which order.
    if (error instanceof SignerError && error.code === "bad_signature") verification.proven = new WeakSet();
    throw error;
  } finally {
    verification.inFlight -= 1;
  }
}

/** The calls of each signer that was written by hand. */
const handWritten = new WeakMap<Signer, Settling>();

/**
 * A signer that was written by hand may ignore its signal. The call rejects anyway, and calls to a dead backend do not pile
 * up: the rule of `createSigner`.
 */
function call(
  signer: Signer,
  digest: Uint8Array,
  input: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const signOwned = signal === undefined ? insideOf(signer)?.signOwned : undefined;
  if (signOwned !== undefined) return signOwned(digest, new Uint8Array(input));
  // Ours copies the input before it returns.
  if (isOurs(signer))
    return signer.sign(digest, signal === undefined ? { signingInput: input } : { signal, signingInput: input });
  // Another copy for the signer, which may change it.
  return callHandWritten(signer, digest, { signal, signingInput: new Uint8Array(input) });
}

/** The bytes that it gives are copied, since it may change its buffer later. */
async function callHandWritten(signer: Signer, digest: Uint8Array, options: SignOptions): Promise<unknown> {
  const { signal } = options;
  if (signal !== undefined) readSignal("signal", signal);
  const followed = followDigest(digest);
  try {
    // Nothing would end a call without a signal, so it is waited for.
    if (signal === undefined) return followedCopy(followed, await signer.sign(digest, options), signer.uri);
    if (signal.aborted) throw endedError(signal.reason);
    const settled = settlingOf(signer).run(() => signer.sign(digest, options), new CallerEnding(signal));
    return followedCopy(followed, await untilAborted(settled, signal), signer.uri);
  } catch (error) {
    throw nameSigner(error, signer.uri);
  } finally {
    unfollowDigest(followed);
  }
}

function settlingOf(signer: Signer): Settling {
  const settling = handWritten.get(signer) ?? createSettling();
  handWritten.set(signer, settling);
  return settling;
}

function isOurs(signer: Signer): boolean {
  return isGuarded(signer) || insideOf(signer) !== undefined;
}

/** Refuses anything but a signature. */
function requireSignature(signature: unknown, entry: ActiveKey, place: Place): Uint8Array {
  try {
    assertRawSignature(signature, "signature");
  } catch (cause) {
    throw badSignature(entry, signature, place, "is not 64 bytes r‖s with 1 ≤ r, s < n", cause);
  }
  return signature;
}

/** Also reports it to the guard, which has already counted a success, and to each failover that the signature came through. */
function badSignature(
  { signer }: ActiveKey,
  signature: unknown,
  place: Place,
  problem: string,
  cause?: unknown,
): SignerError {
  const { uri } = place;
  const options = cause === undefined ? { uri } : { uri, cause };
  const error = new SignerError("bad_signature", `the signature ${problem}`, options);
  reportBadSignature(signer, place, error);
  blameOf(signature)?.(error);
  return error;
}

export const SIGN_WITH_OPTIONS: OptionNames<SignWithOptions> = { verify: true, signal: true };
