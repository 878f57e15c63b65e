import type { CryptoKey } from "jose";
import { TokenError } from "../errors.ts";
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

/** Verifies with jose. */
export async function verifySignature(jwt: string, jws: CompactJws, key: CryptoKey): Promise<void> {
  requireSignatureLength(jws);
  const { compactVerify } = await import("jose/jws/compact/verify");
  try {
    await compactVerify(jwt, key, { algorithms: [jws.alg] });
  } catch (error) {
    throw new TokenError("bad_signature", "the signature does not verify", { cause: error });
  }
}
