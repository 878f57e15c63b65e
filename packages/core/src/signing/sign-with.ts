import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { assertRawSignature } from "../encoding/ecdsa-signature.ts";
import { ConfigurationError, SignerError } from "../errors.ts";
import type { ActiveKey } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { copiedBytes } from "../options/copied-bytes.ts";
import { readChoice, readSignal } from "../options/read-values.ts";
import type { Signer, SignOptions } from "../signer/contract.ts";
import { endedError } from "../signer/endings.ts";
import { insideOf } from "../signer/inside.ts";
import { isGuarded, reportBadSignature } from "../signer/mark.ts";
import { copiedSignature, type Place, placeOf } from "../signer/places.ts";
import { untilAborted } from "../signer/until-aborted.ts";

/** Options of `signWith`, and of everything that signs through it. */
export interface SignWithOptions {
  /**
   * `"always"` (default) verifies each signature, 0.3 ms of processor time after the wait for a KMS. `"first"` verifies
   * until one signature of the entry was good, which is what proves a pinned public key. A signer with several places
   * (`failoverSigner`) has to prove each of them.
   */
  readonly verify?: "always" | "first" | undefined;
  /** Aborts the call: `SignerError` with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

interface Verification {
  readonly key: KeyObject;
  /** Places of which a signature verified. The signer stands for itself where it names no place. */
  readonly proven: WeakSet<object>;
}

// Per entry, keyed by the caller's own object: the imported public key, and which places were proven.
const verifications = new WeakMap<ActiveKey, Verification>();

/**
 * Signs `signingInput` with exactly this entry: hashes it (SHA-256), has the digest signed, and verifies the
 * signature against the entry's published key before it is returned (64 bytes r‖s, RFC 7518 section 3.4).
 *
 * @throws SignerError `bad_signature` when it does not verify (also told to the signer's health), and
 * whatever the signer rejects with. ConfigurationError for a bad argument.
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
    throw new ConfigurationError("entry", "expected the active key of a set: keys.active");
  }
  // What is verified must be what was hashed, whatever the caller or a signer writes into its bytes meanwhile.
  const input = copiedBytes(signingInput);
  if (input === undefined) throw new ConfigurationError("signingInput", "expected a Uint8Array");
  assertOptions("options", options, SIGN_WITH_OPTIONS);
  return signInput(entry, input, options);
}

/** As `signWith`, for options whose names were read. */
export async function signInput(entry: ActiveKey, input: Uint8Array, options: SignWithOptions): Promise<Uint8Array> {
  const mode = options.verify === undefined ? "always" : readChoice("verify", options.verify, ["always", "first"]);
  const digest = createHash("sha256").update(input).digest();
  // Another copy for the signer, which may write into it.
  const made = await call(entry.signer, digest, { signal: options.signal, signingInput: input.slice() });
  const place = placeOf(made) ?? entry.signer;
  const signature = requireSignature(made, entry, place);
  const { key, proven } = verificationOf(entry);
  if (mode === "always" || !proven.has(place)) {
    // For good only while nothing speaks against it.
    proven.delete(place);
    if (!verify("sha256", input, { key, dsaEncoding: "ieee-p1363" }, signature)) {
      throw badSignature(entry, place, "does not verify against the published key of its kid");
    }
    proven.add(place);
  }
  return signature;
}

/** One that was written by hand may not heed its signal: its caller is released all the same. */
async function call(signer: Signer, digest: Uint8Array, options: SignOptions): Promise<Uint8Array> {
  const { signal } = options;
  if (signal === undefined || isOurs(signer)) return signer.sign(digest, options);
  readSignal("signal", signal);
  if (signal.aborted) throw endedError(signal.reason);
  return untilAborted(Promise.resolve(signer.sign(digest, options)), signal);
}

function isOurs(signer: Signer): boolean {
  return isGuarded(signer) || insideOf(signer) !== undefined;
}

/** A copy, and the copy is what is verified and returned: a signer may write into its buffer later. */
function requireSignature(made: unknown, entry: ActiveKey, place: Place): Uint8Array {
  const signature = copiedSignature(made);
  try {
    assertRawSignature(signature, "signature");
  } catch (cause) {
    throw badSignature(entry, place, "is not 64 bytes r‖s with 1 ≤ r, s < n", cause);
  }
  return signature;
}

/** Also told to the signer, which has seen a success. */
function badSignature({ signer }: ActiveKey, place: Place, problem: string, cause?: unknown): SignerError {
  const { uri } = place;
  const options = cause === undefined ? { uri } : { uri, cause };
  const error = new SignerError("bad_signature", `the signature ${problem}`, options);
  reportBadSignature(signer, place, error);
  return error;
}

export const SIGN_WITH_OPTIONS: OptionNames<SignWithOptions> = { verify: true, signal: true };

function verificationOf(entry: ActiveKey): Verification {
  let verification = verifications.get(entry);
  if (verification === undefined) {
    verification = { key: createPublicKey({ key: { ...entry.publicKey }, format: "jwk" }), proven: new WeakSet() };
    verifications.set(entry, verification);
  }
  return verification;
}
