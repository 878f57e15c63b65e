import type { KeyObject, X509Certificate } from "node:crypto";
import { type Certificate, parseCertificate } from "./parse-certificate.ts";
import { isStrongSignature } from "./signature-algorithm.ts";

const MIN_RSA_BITS = 2048;

/** Whether a forger could make the certificate. Nothing depends on the signature of a root or a trust anchor. */
export function signatureFault({ signatureAlgorithm }: Pick<Certificate, "signatureAlgorithm">): string | undefined {
  if (isStrongSignature(signatureAlgorithm)) return undefined;
  return "expected a signature with SHA-256, SHA-384, SHA-512 or EdDSA";
}

/** Whether the key of an issuer is too short. */
export function issuerKeyFault(certificate: Pick<Certificate, "x509">): string | undefined {
  const bits = publicKeyOf(certificate)?.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS;
  return bits < MIN_RSA_BITS ? `expected an RSA key of at least ${MIN_RSA_BITS} bits, got ${bits}` : undefined;
}

/** Undefined for a key that OpenSSL cannot read. */
export function publicKeyOf({ x509 }: { readonly x509: X509Certificate }): KeyObject | undefined {
  try {
    return x509.publicKey;
  } catch {
    return undefined;
  }
}

/** What is wrong with one certificate, without its issuer and its place in a path. */
export interface CertificateFault {
  /** What the fault is about. The signature of a root does not matter, and the size of a key only that of an issuer. */
  readonly about: "form" | "signature" | "key";
  /** For people. */
  readonly problem: string;
}

/**
 * Checks one certificate in DER as the option `certificates` does: its form, the algorithm of its signature, the size of its
 * key. Its times and its critical extensions are left to the caller.
 *
 * @example
 * ```ts
 * import { singleCertificateFaults } from "@signpost/core/adapter";
 *
 * export const isReadable = (der: Uint8Array): boolean => singleCertificateFaults(der).every(({ about }) => about !== "form");
 * ```
 */
export function singleCertificateFaults(der: Uint8Array): readonly CertificateFault[] {
  const certificate = parseCertificate(der);
  if (typeof certificate === "string") return [{ about: "form", problem: certificate }];
  const [signature, key] = [signatureFault(certificate), issuerKeyFault(certificate)];
  return [
    ...(signature === undefined ? [] : [{ about: "signature" as const, problem: signature }]),
    ...(key === undefined ? [] : [{ about: "key" as const, problem: key }]),
  ];
}
