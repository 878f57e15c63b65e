import type { EncodingError } from "../errors.ts";
import { pointToJwk, uncompressedPoint } from "./ec-point.ts";
import type { P256PublicJwk } from "./ec-point.ts";
import { assertBytes, fault, unsupportedKey } from "./fault.ts";
import type { Subject } from "./fault.ts";
import { readP256PublicJwk } from "./public-jwk.ts";
import type { JwkInput } from "./public-jwk.ts";

const SEQUENCE = 0x30;
const OBJECT_IDENTIFIER = 0x06;

/** Far above the size of any real public key. */
const MAX_DER_BYTES = 16_384;

// Parts of the DER (RFC 5480 section 2.1.1).
const ID_EC_PUBLIC_KEY = Buffer.from("2a8648ce3d0201", "hex");
const NAMED_CURVE_P256 = Buffer.from("06082a8648ce3d030107", "hex");
/** AlgorithmIdentifier: id-ecPublicKey with the named curve P-256. */
const ALGORITHM = Buffer.from("301306072a8648ce3d020106082a8648ce3d030107", "hex");
/** Bytes before the point: outer tag and length, the algorithm, then the BIT STRING's tag, length and unused bits (0). */
const HEADER_BYTES = 2 + ALGORITHM.length + 3;
/** More than any form of a P-256 point takes. Lengths up to this take one byte in DER. */
const MAX_POINT_BYTES = 96;

// Labels of RFC 7468 section 13.
const BEGIN = "-----BEGIN PUBLIC KEY-----";
const END = "-----END PUBLIC KEY-----";

/**
 * Converts a SubjectPublicKeyInfo (RFC 5480) to a JWK. It can be DER bytes, or PEM text with the label `PUBLIC KEY`
 * (RFC 7468 section 13). The key must be id-ecPublicKey with the named curve P-256, and its point, uncompressed or
 * compressed, must be on the curve. Only DER is accepted (X.690 section 10), with no bytes after it.
 *
 * @throws EncodingError `invalid_spki`, or `unsupported_key` for a key of another type or curve.
 * @example
 * ```ts
 * import { generateKeyPairSync } from "node:crypto";
 * import { spkiToJwk } from "@signpost/core";
 *
 * const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
 * const fromDer = spkiToJwk(publicKey.export({ type: "spki", format: "der" }));
 * const fromPem = spkiToJwk(publicKey.export({ type: "spki", format: "pem" }).toString());
 * ```
 */
export function spkiToJwk(spki: Uint8Array | string): P256PublicJwk {
  const subject: Subject = { name: "spki", code: "invalid_spki" };
  return typeof spki === "string" ? spkiPemToJwk(spki, subject) : spkiDerToJwk(spki, subject);
}

/** Same as `spkiToJwk`, for PEM only. */
export function spkiPemToJwk(pem: string, subject: Subject): P256PublicJwk {
  return spkiDerToJwk(publicKeyPemToDer(pem, subject), subject);
}

/**
 * Converts a P-256 public JWK to SubjectPublicKeyInfo in DER (RFC 5480): 91 bytes, with the point uncompressed.
 *
 * @throws EncodingError `invalid_jwk` for private members, malformed coordinates or a point off the curve;
 * `unsupported_key` for another key type or curve.
 * @example
 * ```ts
 * import { createPublicKey } from "node:crypto";
 * import { jwkToSpki } from "@signpost/core";
 * import type { P256PublicJwk } from "@signpost/core";
 *
 * const toKeyObject = (jwk: P256PublicJwk) =>
 *   createPublicKey({ key: Buffer.from(jwkToSpki(jwk)), format: "der", type: "spki" });
 * ```
 */
export function jwkToSpki(jwk: JwkInput): Uint8Array {
  const { x, y } = readP256PublicJwk(jwk, { name: "jwk", code: "invalid_jwk" });
  return encodeSpki(uncompressedPoint(Buffer.concat([Buffer.from(x, "base64url"), Buffer.from(y, "base64url")])));
}

function spkiDerToJwk(der: unknown, subject: Subject): P256PublicJwk {
  assertBytes(der, subject);
  if (der.length > MAX_DER_BYTES) throw fault(subject, `longer than ${MAX_DER_BYTES} bytes`);
  // A point has exactly one DER encoding here. The bytes before it are fixed, except for two lengths that depend on the
  // point. So there is no parsing: the key is encoded again, and any difference is refused.
  const point = der.subarray(HEADER_BYTES);
  if (point.length > MAX_POINT_BYTES || Buffer.compare(encodeSpki(point), der) !== 0) throw refusal(der, subject);
  return pointToJwk(point, subject);
}

/** Tells a key of an unsupported kind from bytes that are not a key, if its type and curve are readable. */
function refusal(der: Uint8Array, subject: Subject): EncodingError {
  const [algorithm] = split(split(der, SEQUENCE)?.[0], SEQUENCE) ?? [];
  const [type, parameters] = split(algorithm, OBJECT_IDENTIFIER) ?? [];
  // An identifier that starts with 0x80 is padded, and DER forbids that.
  if (type === undefined || parameters === undefined || type[0] === 0x80) {
    return fault(subject, "not a SubjectPublicKeyInfo, or not DER");
  }
  if (Buffer.compare(type, ID_EC_PUBLIC_KEY) !== 0) {
    return unsupportedKey(subject, "the key's algorithm is not id-ecPublicKey");
  }
  if (Buffer.compare(parameters.subarray(0, NAMED_CURVE_P256.length), NAMED_CURVE_P256) !== 0) {
    return unsupportedKey(subject, "expected the named curve P-256");
  }
  return fault(subject, "not a SubjectPublicKeyInfo, not DER, or there are bytes after the key");
}

/** The contents of the element with this tag, and the bytes after it. */
function split(der: Uint8Array | undefined, tag: number): [contents: Uint8Array, rest: Uint8Array] | undefined {
  if (der === undefined || der[0] !== tag) return undefined;
  const form = der[1] ?? 0x80;
  const start = 2 + (form < 0x80 ? 0 : form - 0x80);
  const length = start === 2 ? form : der.subarray(2, start).reduce((sum, byte) => 256 * sum + byte, 0);
  const end = start + length;
  return end > der.length ? undefined : [der.subarray(start, end), der.subarray(end)];
}

function encodeSpki(point: Uint8Array): Uint8Array {
  const key = [0x03, point.length + 1, 0, ...point];
  return Uint8Array.from([0x30, ALGORITHM.length + key.length, ...ALGORITHM, ...key]);
}

/**
 * The DER inside one PEM block labeled `PUBLIC KEY` (RFC 7468 section 13). White space around the block and any line
 * width are accepted. Another label, a second block, other text around it, headers and malformed base64 are refused.
 */
export function publicKeyPemToDer(pem: string, subject: Subject): Uint8Array {
  const text = pem.trim();
  if (!text.startsWith(BEGIN) || !text.endsWith(END) || text.length < BEGIN.length + END.length) {
    throw fault(subject, 'expected exactly one PEM block labeled "PUBLIC KEY"');
  }
  const body = text.slice(BEGIN.length, -END.length);
  if (!/^[\r\n]/.test(body) || !/[\r\n]$/.test(body)) {
    throw fault(subject, "expected a line break after the BEGIN line and before the END line of the PEM");
  }
  const base64 = body.replaceAll(/[\r\n]/g, "");
  const der = Buffer.from(base64, "base64");
  // This also refuses a second block, a header or other text between the BEGIN and END lines.
  if (base64 === "" || der.toString("base64") !== base64) throw fault(subject, "the PEM block is not padded base64");
  return new Uint8Array(der);
}
