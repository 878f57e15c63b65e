import { ConfigurationError } from "@signpost/core";
import { copiedBytes, given } from "@signpost/core/adapter";
import { isOneDerElement } from "../encode/der.ts";
import { pemBlocks } from "../encode/pem.ts";
import { certificateInfo, type CertificateInfo } from "./certificate-info.ts";

/** More than any chain has. */
const MOST_CERTIFICATES = 32;

/**
 * Reads certificates: PEM with 1 to 32 blocks labeled `CERTIFICATE` and any text between them, the DER of one certificate, or
 * the base64 texts of an `x5c` (RFC 7517 section 4.7). They keep their order. Nothing is verified: see `inspectChain`.
 *
 * @throws ConfigurationError for anything else.
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { readCertificates } from "@signpost/x509";
 *
 * for (const { subject, notAfter } of readCertificates(await readFile("chain.pem", "utf8"))) console.log(subject, notAfter);
 * ```
 */
export function readCertificates(certificates: string | Uint8Array | readonly string[]): readonly CertificateInfo[] {
  const ders = dersOf(certificates);
  if (ders.length === 0 || ders.length > MOST_CERTIFICATES) {
    throw new ConfigurationError("certificates", `expected 1 to ${MOST_CERTIFICATES} certificates, got ${ders.length}`);
  }
  return ders.map((der, index) => {
    const place = ders.length === 1 ? "certificates" : `certificates[${index}]`;
    if (!isOneDerElement(der)) throw new ConfigurationError(place, "not DER, or there are bytes after the certificate");
    try {
      return certificateInfo(der);
    } catch (cause) {
      throw new ConfigurationError(place, "expected an X.509 certificate", { cause });
    }
  });
}

function dersOf(value: unknown): readonly Uint8Array[] {
  // A copy, since the bytes that are checked must be those that are read.
  const bytes = copiedBytes(value);
  if (bytes !== undefined) return [bytes];
  if (Array.isArray(value)) {
    return value.map((each: unknown, index) => {
      const der = typeof each === "string" ? Buffer.from(each, "base64") : undefined;
      if (der !== undefined && der.toString("base64") === each) return der;
      throw new ConfigurationError(`certificates[${index}]`, `expected base64 with padding, got ${given(each)}`);
    });
  }
  if (typeof value !== "string") {
    throw new ConfigurationError("certificates", `expected PEM, DER or an array of base64 texts, got ${given(value)}`);
  }
  if (/-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----/.test(value)) {
    throw new ConfigurationError("certificates", "expected certificates, got a certificate request");
  }
  const blocks = pemBlocks("CERTIFICATE", value);
  if (blocks !== undefined) return blocks;
  throw new ConfigurationError("certificates", "a PEM block is not padded base64, or has no end");
}
