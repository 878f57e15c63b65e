import { BitString, fromBER, ObjectIdentifier, Sequence } from "asn1js";
import { uncompressedPoint } from "./ec-curves.ts";
import { pointToJwk } from "./ec-point.ts";
import { assertBytes, fault, unsupportedKey } from "./fault.ts";
import type { Subject } from "./fault.ts";
import { p256Members } from "./p256-public-jwk.ts";
import type { P256PublicJwk } from "./p256-public-jwk.ts";
import { publicKeyPemToDer } from "./pem.ts";
import type { JwkInput } from "./public-members.ts";

const ID_EC_PUBLIC_KEY = "1.2.840.10045.2.1";
const PRIME256V1 = "1.2.840.10045.3.1.7";

/** Far above any public key there is; the reader never sees more. */
const MAX_DER_BYTES = 16_384;

/** AlgorithmIdentifier in DER: id-ecPublicKey with the named curve P-256 (RFC 5480 section 2.1.1). */
const ALGORITHM = Buffer.from("301306072a8648ce3d020106082a8648ce3d030107", "hex");

/**
 * Converts a SubjectPublicKeyInfo (RFC 5480), as DER bytes or as a PEM text with the one label `PUBLIC KEY` (RFC 7468
 * section 13), to a JWK. The key is id-ecPublicKey with the named curve P-256; its point is uncompressed or
 * compressed, and on the curve. Only DER is accepted (X.690 section 10), without a byte after it.
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

/** As `spkiToJwk` for PEM alone. */
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
  const { x, y } = p256Members(jwk, { name: "jwk", code: "invalid_jwk" });
  return encodeSpki(uncompressedPoint(Buffer.concat([Buffer.from(x, "base64url"), Buffer.from(y, "base64url")])));
}

function spkiDerToJwk(der: unknown, subject: Subject): P256PublicJwk {
  assertBytes(der, subject);
  const point = readPoint(der, subject);
  const jwk = pointToJwk(point, subject);
  // The reader takes BER and trailing bytes. There is one DER encoding of a given point: compare with it.
  if (Buffer.compare(encodeSpki(point), der) !== 0) throw fault(subject, "not DER, or bytes follow the key");
  return jwk;
}

function readPoint(der: Uint8Array, subject: Subject): Uint8Array {
  const [algorithm, key, ...rest] = elements(readBer(der, subject));
  const [type, curve] = elements(algorithm);
  if (!(type instanceof ObjectIdentifier) || !(key instanceof BitString) || rest.length > 0) {
    throw fault(subject, "not a SubjectPublicKeyInfo");
  }
  if (type.getValue() !== ID_EC_PUBLIC_KEY) throw unsupportedKey(subject, "the key's algorithm is not id-ecPublicKey");
  if (!(curve instanceof ObjectIdentifier) || curve.getValue() !== PRIME256V1) {
    throw unsupportedKey(subject, "expected the named curve P-256");
  }
  return key.valueBlock.valueHexView;
}

function readBer(der: Uint8Array, subject: Subject): unknown {
  if (der.length > MAX_DER_BYTES) throw fault(subject, `longer than ${MAX_DER_BYTES} bytes`);
  try {
    const { offset, result } = fromBER(new Uint8Array(der), { maxDepth: 8, maxNodes: 64, parseEmbedded: false });
    if (offset === -1) throw new Error(result.error);
    return result;
  } catch (cause) {
    throw fault(subject, "not DER", { cause });
  }
}

function elements(block: unknown): readonly unknown[] {
  return block instanceof Sequence ? block.valueBlock.value : [];
}

function encodeSpki(point: Uint8Array): Uint8Array {
  const key = [0x03, point.length + 1, 0, ...point];
  return Uint8Array.from([0x30, ALGORITHM.length + key.length, ...ALGORITHM, ...key]);
}
