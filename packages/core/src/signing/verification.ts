import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { promisify } from "node:util";
import { inPoolOrHere, isPoolLate } from "../backend/late-pool.ts";
import { p256JwkFrom } from "../encoding/given-key.ts";
import type { ActiveKey } from "../keyset/types.ts";

/** What is known about the signatures of one entry. */
export interface Verification {
  readonly key: KeyObject;
  /**
   * Places that have made a good signature. A signer that names no place counts as its own place. Another set after each
   * bad signature.
   */
  proven: WeakSet<object>;
  /** Calls whose signature is not yet made and verified. */
  inFlight: number;
}

const verifyInPool = promisify(verify);

const verifications = new WeakMap<ActiveKey, Verification>();

export function verificationOf(entry: ActiveKey): Verification {
  let verification = verifications.get(entry);
  if (verification === undefined) {
    // Node's own error about a JWK repeats its members.
    const key = createPublicKey({ key: { ...p256JwkFrom(entry.publicKey, "entry.publicKey") }, format: "jwk" });
    verification = { key, proven: new WeakSet(), inFlight: 0 };
    verifications.set(entry, verification);
  }
  return verification;
}

/**
 * Whether this is a signature over `input`. A single call is verified at once, which takes the least time. While other
 * calls are in flight, libuv's pool verifies, so that the event loop is free for their answers and the processors share the
 * work.
 */
export function isValid(
  input: Uint8Array,
  signature: Uint8Array,
  { key, inFlight }: Verification,
): boolean | Promise<boolean> {
  const verifier = { key, dsaEncoding: "ieee-p1363" } as const;
  const verifyHere = (): boolean => verify("sha256", input, verifier, signature);
  if (inFlight < 2 || isPoolLate()) return verifyHere();
  return inPoolOrHere(verifyInPool("sha256", input, verifier, signature), verifyHere);
}
