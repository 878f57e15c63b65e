import { createPublicKey, X509Certificate } from "node:crypto";
import type { ActiveKey } from "@signpost/core";

/** By the kid of a key: its certificate and those that lead to the trust anchor, in the form of the header `x5c`. */
export type Chains = ReadonlyMap<string, readonly string[]>;

/**
 * The chain of one key, from PEM with the certificate of the key first. The trust anchor itself is not in it: verifiers have
 * it, and OpenID4VC HAIP 1.0 does not allow it there. Throws if the first certificate is not that of the key: otherwise no
 * credential could be signed.
 */
export function chainOf({ keyId, publicKey }: ActiveKey, pem: string): Chains {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const certificates = blocks.map((block) => new X509Certificate(block));
  const key = createPublicKey({ key: { ...publicKey }, format: "jwk" });
  if (certificates[0]?.publicKey.equals(key) !== true) {
    throw new Error(`the first certificate of the chain is not that of the key ${keyId}`);
  }
  return new Map([[keyId, certificates.map(({ raw }) => raw.toString("base64"))]]);
}
