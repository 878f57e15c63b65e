import type { KeyObject } from "node:crypto";
import { constants, sign } from "node:crypto";

/** A compact JWS of any header and payload, signed by node:crypto: also what no library would make. */
export function rawJws(header: unknown, payload: unknown, signWith: (input: Buffer) => Uint8Array): string {
  const input = `${encoded(header)}.${encoded(payload)}`;
  return `${input}.${Buffer.from(signWith(Buffer.from(input))).toString("base64url")}`;
}

export function encoded(part: unknown): string {
  return Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
}

export const es256 =
  (key: KeyObject) =>
  (input: Buffer): Uint8Array =>
    sign("sha256", input, { key, dsaEncoding: "ieee-p1363" });

export const es256Der =
  (key: KeyObject) =>
  (input: Buffer): Uint8Array =>
    sign("sha256", input, { key, dsaEncoding: "der" });

export const ps256 =
  (key: KeyObject, saltLength: number) =>
  (input: Buffer): Uint8Array =>
    sign("sha256", input, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
