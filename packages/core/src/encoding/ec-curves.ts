import { ECDH } from "node:crypto";
import { fault } from "./fault.ts";
import type { Subject } from "./fault.ts";

export type EcCurveName = "P-256" | "P-384" | "P-521";

export interface EcCurve {
  readonly crv: EcCurveName;
  /** Bytes of one coordinate, which is always written in full (RFC 7518 section 6.2.1.2). */
  readonly coordinateBytes: number;
  /** The curve's name in node:crypto. */
  readonly nodeName: string;
}

export const P256: EcCurve = { crv: "P-256", coordinateBytes: 32, nodeName: "prime256v1" };

/** The NIST curves of RFC 7518 section 6.2.1.1 by their JOSE names. */
export const EC_CURVES: ReadonlyMap<string, EcCurve> = new Map([
  ["P-256", P256],
  ["P-384", { crv: "P-384", coordinateBytes: 48, nodeName: "secp384r1" }],
  ["P-521", { crv: "P-521", coordinateBytes: 66, nodeName: "secp521r1" }],
]);

/**
 * x‖y of a SEC 1 point in uncompressed (04) or compressed (02, 03) form. OpenSSL decompresses, and refuses
 * coordinates that are not below the field's prime and points off the curve.
 */
export function affineCoordinates(curve: EcCurve, point: Uint8Array, subject: Subject): Uint8Array {
  const format = point[0];
  const uncompressed = format === 0x04 && point.length === 1 + 2 * curve.coordinateBytes;
  const compressed = (format === 0x02 || format === 0x03) && point.length === 1 + curve.coordinateBytes;
  // Hybrid points (06, 07) and the point at infinity (00) would be read by OpenSSL.
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
