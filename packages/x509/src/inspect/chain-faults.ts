import type { CertificateInfo } from "./certificate-info.ts";

/**
 * Why a chain may be refused. `not_an_issuer`: it signed a certificate and is no authority. `path_too_long`: an authority does
 * not allow so many below it. `not_evaluated`: it has a critical extension that was not evaluated. `weak_signature`: signed
 * with MD5 or SHA-1. `untrusted`: no trust anchor fits.
 */
export type ChainProblemCode =
  | "expired"
  | "not_yet_valid"
  | "not_an_issuer"
  | "path_too_long"
  | "not_evaluated"
  | "weak_signature"
  | "untrusted";

/** What is wrong with one certificate. */
export interface ChainFault {
  /** Machine-readable reason. */
  readonly code: ChainProblemCode;
  /** For people. */
  readonly message: string;
}

/** MD5 and SHA-1 with RSA, and SHA-1 with ECDSA. */
const WEAK: readonly string[] = ["1.2.840.113549.1.1.4", "1.2.840.113549.1.1.5", "1.2.840.10045.4.1"];

/** What is wrong with a certificate, wherever it is in a chain. */
export function certificateFaults(info: CertificateInfo, now: number): readonly ChainFault[] {
  const { notBefore, notAfter, otherCriticalExtensions, signatureAlgorithm } = info;
  const faults: ChainFault[] = [];
  if (now < notBefore.getTime()) {
    faults.push({ code: "not_yet_valid", message: `it is not valid before ${isoOf(notBefore)}` });
  }
  // The last second belongs to the certificate.
  if (now >= notAfter.getTime() + 1000)
    faults.push({ code: "expired", message: `it has expired on ${isoOf(notAfter)}` });
  if (otherCriticalExtensions.length > 0) {
    const message = `critical extensions were not evaluated: ${otherCriticalExtensions.join(", ")}`;
    faults.push({ code: "not_evaluated", message });
  }
  if (WEAK.includes(signatureAlgorithm))
    faults.push({ code: "weak_signature", message: "it is signed with MD5 or SHA-1" });
  return faults;
}

/** What is wrong with a certificate that issued another. `below`: how many authorities are between it and the leaf. */
export function issuingFaults({ basicConstraints, keyUsage }: CertificateInfo, below: number): readonly ChainFault[] {
  const faults: ChainFault[] = [];
  if (basicConstraints?.ca !== true) {
    faults.push({ code: "not_an_issuer", message: "it signed a certificate, and is not that of an authority" });
  }
  if (keyUsage !== undefined && !keyUsage.includes("keyCertSign")) {
    faults.push({ code: "not_an_issuer", message: "it signed a certificate, and its key usage does not allow that" });
  }
  const { pathLength } = basicConstraints ?? {};
  if (pathLength !== undefined && below > pathLength) {
    faults.push({
      code: "path_too_long",
      message: `it allows ${pathLength} authorities below it, and there are ${below}`,
    });
  }
  return faults;
}

function isoOf(date: Date): string {
  return date.toISOString().replace(".000Z", "Z");
}
