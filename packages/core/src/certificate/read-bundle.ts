import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { copiedBytes } from "../options/copied-bytes.ts";

/** Certificates: a PEM bundle, or a list of certificates, each as DER bytes, as base64 of DER, or as PEM. */
export type CertificateBundle = string | readonly (string | Uint8Array)[];

export interface BundleBounds {
  readonly maxCertificates: number;
  /** Of all certificates together, in DER. */
  readonly maxBytes: number;
}

const LABEL = "CERTIFICATE";
const BLOCK = /-----BEGIN CERTIFICATE-----[\r\n]([^-]*)-----END CERTIFICATE-----/g;
/** What else such files have, by a part of its label (RFC 7468). */
const OTHER_LABELS = [
  ["PRIVATE KEY", "a private key: keep it out of this option, and out of the files of certificates"],
  ["REQUEST", "a certificate request: the certificate is what the CA returned for it"],
  ["CRL", "a revocation list"],
  ["PUBLIC KEY", "a public key"],
  ["PKCS7", "a PKCS #7 container: convert it with openssl pkcs7 -print_certs | sed -n '/-BEGIN/,/-END/p'"],
  ["PARAMETERS", "parameters of a key"],
] as const;

/** Many tools print the names and the text of a certificate before it. */
const BLOCKS_ONLY = "sed -n '/-BEGIN/,/-END/p' leaves out other lines";

/** Where a bundle is: the option, and the key that it is for. */
export interface BundlePlace {
  readonly argument: string;
  /** The first words of each message: `kid "sig-2026"`. */
  readonly subject: string;
}

/** The certificates of a bundle in DER. They are not parsed yet. Of what is not a certificate, no part is shown. */
export function readBundle(place: BundlePlace, value: unknown, bounds: BundleBounds): readonly Uint8Array[] {
  const { maxCertificates, maxBytes } = bounds;
  // PEM has 4 characters for 3 bytes, line breaks, and two lines around them.
  const maxCharacters = 2 * maxBytes;
  const all =
    typeof value === "string"
      ? pemCertificates(place, value, maxCharacters)
      : listOf(place, value, maxCertificates).flatMap((item, index) =>
          readItem({ ...place, argument: `${place.argument}[${index}]` }, item, maxCharacters),
        );
  if (all.length > maxCertificates)
    throw refusal(place, `expected 1 to ${maxCertificates} certificates, got ${all.length}`);
  const bytes = all.reduce((sum, { length }) => sum + length, 0);
  if (bytes > maxBytes) throw refusal(place, `expected at most ${maxBytes} bytes of certificates, got ${bytes}`);
  return all;
}

function listOf(place: BundlePlace, value: unknown, maxLength: number): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0 && value.length <= maxLength) return Array.from<unknown>(value);
  const expected = `expected certificates: PEM, or a list of 1 to ${maxLength}, each as DER, base64 or PEM`;
  throw refusal(place, `${expected}, got ${Array.isArray(value) ? `a list of ${value.length}` : given(value)}`);
}

function readItem(place: BundlePlace, item: unknown, maxCharacters: number): readonly Uint8Array[] {
  if (typeof item === "string") {
    return item.includes("-----")
      ? pemCertificates(place, item, maxCharacters)
      : [decodeBase64(place, item, maxCharacters)];
  }
  const bytes = copiedBytes(item);
  if (bytes === undefined) throw refusal(place, `expected a certificate as DER, base64 or PEM, got ${given(item)}`);
  return [bytes];
}

/** RFC 7468 section 5: blocks with the label CERTIFICATE. White space around them is allowed, and no other text. */
function pemCertificates(place: BundlePlace, pem: string, maxCharacters: number): readonly Uint8Array[] {
  if (pem.length > maxCharacters) throw tooLong(place, maxCharacters);
  for (const [, label = ""] of pem.matchAll(/-----BEGIN ([^\r\n-]*)/g)) refuseOtherLabel(place, label);
  const bodies = [...pem.matchAll(BLOCK)].map(([, body = ""]) => body.replaceAll(/\s/g, ""));
  if (bodies.length === 0 || pem.replaceAll(BLOCK, "").trim() !== "") {
    throw refusal(
      place,
      `expected PEM blocks labeled "${LABEL}", with nothing else between and around them; ${BLOCKS_ONLY}`,
    );
  }
  return bodies.map((body) => decodeBase64(place, body, maxCharacters));
}

function refuseOtherLabel(place: BundlePlace, label: string): void {
  if (label === LABEL) return;
  const [, what] = OTHER_LABELS.find(([part]) => label.includes(part)) ?? [];
  throw refusal(place, `expected only certificates, got ${what ?? "a PEM block with another label"}`);
}

/** With padding (RFC 4648 section 4), as in `x5c`. */
function decodeBase64(place: BundlePlace, text: string, maxCharacters: number): Uint8Array {
  if (text.length > maxCharacters) throw tooLong(place, maxCharacters);
  const bytes = Buffer.from(text, "base64");
  if (text === "" || bytes.toString("base64") !== text) {
    throw refusal(place, "expected a certificate in padded base64 (not base64url), or in PEM");
  }
  return new Uint8Array(bytes);
}

function tooLong(place: BundlePlace, maxCharacters: number): ConfigurationError {
  return refusal(place, `expected at most ${maxCharacters} characters`);
}

function refusal({ argument, subject }: BundlePlace, problem: string): ConfigurationError {
  return new ConfigurationError(argument, `${subject}: ${problem}`, { code: "invalid_certificate" });
}
