import { ECDH } from "node:crypto";
import { encodeBase64url } from "./base64url.ts";
import { assertBytes, fault } from "./fault.ts";
import type { Subject } from "./fault.ts";

/**
 * A P-256 public key as a JWK (RFC 7517, RFC 7518 section 6.2.1): `x` and `y` are exactly 32 bytes each,
 * in unpadded base64url (43 characters).
 */
export type P256PublicJwk = {
  /** Key type. */
  readonly kty: "EC";
  /** Curve. */
  readonly crv: "P-256";
  /** First coordinate of the point. */
  readonly x: string;
  /** Second coordinate of the point. */
  readonly y: string;
};

/** The NIST curves of RFC 7518 section 6.2.1.1. */
export type EcCurveName = "P-256" | "P-384" | "P-521";

export interface EcCurve {
  readonly crv: EcCurveName;
  /** Bytes of one coordinate. Leading zeros are always written (RFC 7518 section 6.2.1.2). */
  readonly coordinateBytes: number;
  /** The curve's name in node:crypto. */
  readonly nodeName: string;
}

export const P256: EcCurve = { crv: "P-256", coordinateBytes: 32, nodeName: "prime256v1" };

/** The same curves by name. */
export const EC_CURVES: ReadonlyMap<string, EcCurve> = new Map([
  ["P-256", P256],
  ["P-384", { crv: "P-384", coordinateBytes: 48, nodeName: "secp384r1" }],
  ["P-521", { crv: "P-521", coordinateBytes: 66, nodeName: "secp521r1" }],
]);

/**
 * x‖y of a SEC 1 point in uncompressed (04) or compressed (02, 03) form. OpenSSL decompresses the point. It refuses
 * points off the curve, and coordinates that are not below the prime of the field.
 */
export function affineCoordinates(curve: EcCurve, point: Uint8Array, subject: Subject): Uint8Array {
  const format = point[0];
  const uncompressed = format === 0x04 && point.length === 1 + 2 * curve.coordinateBytes;
  const compressed = (format === 0x02 || format === 0x03) && point.length === 1 + curve.coordinateBytes;
  // OpenSSL would accept hybrid points (06, 07) and the point at infinity (00).
  if (!uncompressed && !compressed) {
    throw fault(subject, "the point is neither uncompressed (04) nor compressed (02, 03)");
  }
  try {
    const full = ECDH.convertKey(point, curve.nodeName, undefined, "hex", "uncompressed");
    return new Uint8Array(Buffer.from(full.toString("hex"), "hex").subarray(1));
  } catch (cause) {
    throw fault(subject, `the point is not on the curve ${curve.crv}`, { cause });
  }
}

/** x‖y as an uncompressed SEC 1 point. */
export function uncompressedPoint(affine: Uint8Array): Uint8Array {
  return Uint8Array.from([0x04, ...affine]);
}

const OCTET_STRING = 0x04;

/**
 * Converts a P-256 point to a JWK. Only the length decides the form, since a raw point may start with the same bytes as
 * a wrapped one:
 *
 * | bytes | form |
 * |---|---|
 * | 64 | x‖y without a format byte |
 * | 65 | uncompressed: `04`, x, y (SEC 1 section 2.3.3) |
 * | 33 | compressed: `02` or `03`, x |
 * | 67 | uncompressed, inside a DER OCTET STRING (`CKA_EC_POINT` of PKCS#11) |
 * | 35 | compressed, inside a DER OCTET STRING |
 *
 * @throws EncodingError `invalid_point` for any other length or form, or a point that is not on the curve.
 * @example
 * ```ts
 * import { createECDH } from "node:crypto";
 * import { ecPointToJwk } from "@signpost/core";
 *
 * const point = createECDH("prime256v1").generateKeys();
 * const jwk = ecPointToJwk(point);
 * ```
 */
export function ecPointToJwk(point: Uint8Array): P256PublicJwk {
  const subject: Subject = { name: "point", code: "invalid_point" };
  assertBytes(point, subject);
  switch (point.length) {
    case 64:
      return pointToJwk(uncompressedPoint(point), subject);
    case 33:
    case 65:
      return pointToJwk(point, subject);
    case 35:
    case 67:
      if (point[0] !== OCTET_STRING || point[1] !== point.length - 2) {
        throw fault(subject, `${point.length} bytes that are not a DER OCTET STRING around a point`);
      }
      return pointToJwk(point.subarray(2), subject);
    default:
      throw fault(subject, `expected a P-256 point of 64, 65, 33, 67 or 35 bytes, got ${point.length}`);
  }
}

/** A SEC 1 point on P-256, uncompressed or compressed, as a JWK. */
export function pointToJwk(point: Uint8Array, subject: Subject): P256PublicJwk {
  const affine = affineCoordinates(P256, point, subject);
  return Object.freeze({
    kty: "EC",
    crv: "P-256",
    x: encodeBase64url(affine.subarray(0, P256.coordinateBytes)),
    y: encodeBase64url(affine.subarray(P256.coordinateBytes)),
  });
}
