import { KeyObject, verify } from "node:crypto";
import type { CryptoKey } from "jose";
import { inPoolOrHere, isPoolLate } from "@signpost/core/adapter";
import { TokenError } from "../errors.ts";
import { fits, isJwtAlgorithm, SCHEMES } from "./algorithms.ts";
import type { CompactJws } from "./compact.ts";

/** Algorithms with a fixed signature length: r‖s (RFC 7518 section 3.4) and Ed25519 (RFC 8032). */
const SIGNATURE_BYTES: ReadonlyMap<string, number> = new Map([
  ["ES256", 64],
  ["ES384", 96],
  ["ES512", 132],
  ["EdDSA", 64],
  ["Ed25519", 64],
]);

/** Refuses a DER signature, which must never reach the cryptography. */
export function requireSignatureLength({ alg, signature }: CompactJws): void {
  const bytes = SIGNATURE_BYTES.get(alg) ?? signature.length;
  if (signature.length !== bytes) throw new TokenError("bad_signature", `expected a signature of ${bytes} bytes`);
}

/** Verifies with jose, which uses libuv's pool. While other work blocks the pool, verifies without it. */
export async function verifySignature(jwt: string, jws: CompactJws, key: CryptoKey): Promise<void> {
  requireSignatureLength(jws);
  const verifyHere = (): void => verifyByNode(jwt, jws, key);
  try {
    if (isPoolLate()) verifyHere();
    else await inPoolOrHere(verifyByJose(jwt, jws, key), verifyHere);
  } catch (error) {
    throw new TokenError("bad_signature", "the signature does not verify", { cause: error });
  }
}

async function verifyByJose(jwt: string, { alg }: CompactJws, key: CryptoKey): Promise<void> {
  const { compactVerify } = await import("jose/jws/compact/verify");
  await compactVerify(jwt, key, { algorithms: [alg] });
}

const MIN_RSA_BITS = 2048;

function verifyByNode(jwt: string, { alg, signature }: CompactJws, key: CryptoKey): void {
  // Another function's key may be a KeyObject, which jose accepts too.
  const given: unknown = key;
  const object = given instanceof KeyObject ? given : KeyObject.from(key);
  const scheme = isJwtAlgorithm(alg) ? SCHEMES[alg] : undefined;
  const { modulusLength = MIN_RSA_BITS } = object.asymmetricKeyDetails ?? {};
  if (scheme === undefined || !fits(key, object, scheme) || modulusLength < MIN_RSA_BITS)
    throw new TypeError("the key is not for this alg");
  // The parts were checked to be base64url.
  const data = Buffer.from(jwt.slice(0, jwt.lastIndexOf(".")), "latin1");
  if (!verify(scheme.digest, data, { key: object, ...scheme.parameters }, signature))
    throw new Error("the signature was not made by this key");
}
