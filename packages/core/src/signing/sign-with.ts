import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { isUint8Array } from "node:util/types";
import { ConfigurationError, SignerError } from "../errors.ts";
import type { ActiveKey } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readChoice } from "../options/read-values.ts";
import { reportFailure } from "../signer/mark.ts";

/** Options of `signWith`, and of everything that signs through it. */
export interface SignWithOptions {
  /**
   * `"always"` (default) verifies each signature, 50 to 100 µs. `"first"` verifies until one signature of
   * the entry was good, which is what proves a pinned public key.
   */
  readonly verify?: "always" | "first" | undefined;
  /** Aborts the call: `SignerError` with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

interface Verification {
  readonly key: KeyObject;
  proven: boolean;
}

// Per entry, keyed by the caller's own object: the imported public key, and whether a signature verified yet.
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
  if (!isUint8Array(signingInput)) throw new ConfigurationError("signingInput", "expected a Uint8Array");
  assertOptions("options", options, SIGN_WITH_OPTIONS);
  return signInput(entry, signingInput, options);
}

/** As `signWith`, for options whose names were read. */
export async function signInput(
  entry: ActiveKey,
  signingInput: Uint8Array,
  options: SignWithOptions,
): Promise<Uint8Array> {
  const mode = readChoice("verify", options.verify ?? "always", ["always", "first"]);
  // What is verified must be what was hashed, whatever the caller or a signer writes into its bytes meanwhile.
  const input = new Uint8Array(signingInput);
  const digest = createHash("sha256").update(input).digest();
  const signature = await entry.signer.sign(digest, { signal: options.signal, signingInput });
  const verification = verificationOf(entry);
  if (mode === "always" || !verification.proven) {
    if (!verify("sha256", input, { key: verification.key, dsaEncoding: "ieee-p1363" }, signature)) {
      const error = new SignerError(
        "bad_signature",
        "the signature does not verify against the published key of its kid",
      );
      reportFailure(entry.signer, error);
      throw error;
    }
    verification.proven = true;
  }
  return signature;
}

export const SIGN_WITH_OPTIONS: OptionNames<SignWithOptions> = { verify: true, signal: true };

function verificationOf(entry: ActiveKey): Verification {
  let verification = verifications.get(entry);
  if (verification === undefined) {
    verification = { key: createPublicKey({ key: { ...entry.publicKey }, format: "jwk" }), proven: false };
    verifications.set(entry, verification);
  }
  return verification;
}
