import { createPublicKey, type KeyObject, verify } from "node:crypto";
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

const verifications = new WeakMap<ActiveKey, Verification>();

export function verificationOf(entry: ActiveKey): Verification {
  let verification = verifications.get(entry);
  if (verification === undefined) {
    const key = createPublicKey({ key: { ...entry.publicKey }, format: "jwk" });
    verification = { key, proven: new WeakSet(), inFlight: 0 };
    verifications.set(entry, verification);
  }
  return verification;
}

/** How long libuv's pool may take. Other work can block its threads forever, such as files on a mount that hangs. Milliseconds. */
const PATIENCE_MS = 250;

/** Verifications that libuv's pool has not done in that time. While there are any, the event loop verifies. */
let late = 0;

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
  if (inFlight < 2 || late > 0) return verifyHere();
  return new Promise((resolve, reject) => {
    let isLate = false;
    let turn: NodeJS.Immediate | undefined;
    const verifyLate = (): void => {
      isLate = true;
      late += 1;
      new Promise<boolean>((done) => done(verifyHere())).then(resolve, reject);
    };
    const timer = setTimeout(() => {
      // After the event loop was busy, the result may already be there. It is read before this.
      turn = setImmediate(verifyLate);
    }, PATIENCE_MS);
    verify("sha256", input, verifier, signature, (error, valid) => {
      clearTimeout(timer);
      clearImmediate(turn);
      if (isLate) late -= 1;
      if (error === null) resolve(valid);
      else reject(error);
    });
  });
}
