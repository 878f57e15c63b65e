import { type CertificateFault, singleCertificateFaults } from "@signpost/core/adapter";
import type { CertificateInfo } from "./certificate-info.ts";

/**
 * Why a chain may be refused. `not_an_issuer`: it signed a certificate and is no authority. `path_too_long`: an authority does
 * not allow so many below it. `not_evaluated`: it has a critical extension that was not evaluated. `malformed`: verifiers may
 * not be able to read it. `weak_signature`: not signed with SHA-2 or EdDSA. `weak_key`: RSA of fewer than 2048 bits.
 * `untrusted`: no trust anchor fits.
 */
export type ChainProblemCode =
  | "expired"
  | "not_yet_valid"
  | "not_an_issuer"
  | "path_too_long"
  | "not_evaluated"
  | "malformed"
  | "weak_signature"
  | "weak_key"
  | "untrusted";

/** What is wrong with one certificate. */
export interface ChainFault {
  /** Machine-readable reason. */
  readonly code: ChainProblemCode;
  /** For people. */
  readonly message: string;
}

const CODES: Readonly<Record<CertificateFault["about"], ChainProblemCode>> = {
  form: "malformed",
  signature: "weak_signature",
  key: "weak_key",
};

/** What is wrong with a certificate, wherever it is in a chain. Nothing depends on the signature of a root. */
export function certificateFaults(info: CertificateInfo, isRoot: boolean, now: number): readonly ChainFault[] {
  const { notBefore, notAfter, otherCriticalExtensions, der } = info;
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
  // The same rules as for the certificates of a key set.
  for (const { about, problem } of singleCertificateFaults(der)) {
    if (!(isRoot && about === "signature")) faults.push({ code: CODES[about], message: problem });
  }
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
