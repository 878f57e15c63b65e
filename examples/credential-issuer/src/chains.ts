import { X509Certificate } from "node:crypto";

/** By the kid of a key: its certificate and those that lead to the trust anchor, in the form of the header `x5c`. */
export type Chains = ReadonlyMap<string, readonly string[]>;

/**
 * The chain of one key, from PEM with the certificate of the key first. The trust anchor itself is not in it: verifiers have
 * it, and OpenID4VC HAIP 1.0 does not allow it there.
 */
export function chainOf(keyId: string, pem: string): Chains {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return new Map([[keyId, certificates.map((one) => new X509Certificate(one).raw.toString("base64"))]]);
}
