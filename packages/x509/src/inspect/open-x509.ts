import { X509Certificate } from "node:crypto";

/** OpenSSL's view of a certificate. Throws for anything but the DER of one. */
export function openX509(der: Uint8Array): X509Certificate {
  const x509 = new X509Certificate(der);
  // It looks for PEM first. PEM in a text of a certificate would be another certificate than the one around it.
  if (Buffer.compare(x509.raw, der) === 0) return x509;
  throw new SyntaxError("not the DER of one certificate");
}
