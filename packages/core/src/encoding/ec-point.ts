import { encodeBase64url } from "./base64url.ts";
import { affineCoordinates, P256, uncompressedPoint } from "./ec-curves.ts";
import { assertBytes, fault } from "./fault.ts";
import type { Subject } from "./fault.ts";
import type { P256PublicJwk } from "./p256-public-jwk.ts";

const OCTET_STRING = 0x04;

/**
 * Converts a P-256 point to a JWK. The length alone decides what the bytes are, since a raw point may begin
 * like a wrapped one:
 *
 * | bytes | form |
 * |---|---|
 * | 64 | x‖y without a format byte |
 * | 65 | uncompressed: `04`, x, y (SEC 1 section 2.3.3) |
 * | 33 | compressed: `02` or `03`, x |
 * | 67 | uncompressed, inside a DER OCTET STRING (`CKA_EC_POINT` of PKCS#11) |
 * | 35 | compressed, inside a DER OCTET STRING |
 *
 * @throws EncodingError `invalid_point` for another length or form, or a point that is not on the curve.
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
