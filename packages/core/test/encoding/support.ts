import { createECDH } from "node:crypto";
import { expect } from "vitest";
import { EncodingError } from "../../src/errors.ts";
import type { EncodingErrorCode } from "../../src/errors.ts";

/** Order n of the P-256 group. */
export const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** Prime p of the P-256 field. */
export const PRIME = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;

export function hex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"));
}

/** Big-endian, in exactly `length` bytes. */
export function fixed(value: bigint, length = 32): Uint8Array {
  return hex(value.toString(16).padStart(2 * length, "0"));
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

export function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

/** Tag, definite length in its shortest form, contents. */
export function tlv(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const body = concat(...contents);
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255];
  return concat(Uint8Array.from([tag, ...length]), body);
}

/** The minimal DER INTEGER of any whole number, negative ones included. */
export function integer(value: bigint): Uint8Array {
  let length = 1;
  while (BigInt.asIntN(8 * length, value) !== value) length += 1;
  return tlv(0x02, fixed(BigInt.asUintN(8 * length, value), length));
}

/** `Ecdsa-Sig-Value` in DER, made without the code under test. */
export function derSignature(r: bigint, s: bigint): Uint8Array {
  return tlv(0x30, integer(r), integer(s));
}

/** The same input with one byte set. */
export function withByte(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[at] = value;
  return copy;
}

/** Every input that differs from `bytes` in exactly one byte. */
export function* singleByteMutations(bytes: Uint8Array): Generator<Uint8Array> {
  for (const [at, original] of bytes.entries()) {
    for (let value = 0; value < 256; value += 1) if (value !== original) yield withByte(bytes, at, value);
  }
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** What `call` throws, which has to be an EncodingError: anything else is a leak of a reader underneath. */
export function encodingErrorOf(call: () => unknown): EncodingError | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof EncodingError) return error;
    throw error;
  }
}

export function expectEncodingError(call: () => unknown, code: EncodingErrorCode, message: RegExp): void {
  const error = encodingErrorOf(call);
  expect(error, "it was accepted").toBeDefined();
  expect({ code: error?.code, message: error?.message }).toEqual({ code, message: expect.stringMatching(message) });
}

export interface KnownKey {
  /** 04‖x‖y */
  readonly point: Uint8Array;
  readonly compressed: Uint8Array;
  readonly x: Uint8Array;
  readonly y: Uint8Array;
  readonly jwk: { readonly kty: "EC"; readonly crv: "P-256"; readonly x: string; readonly y: string };
}

/** The public key of a private scalar, so that keys with rare properties can be named by a number. */
export function keyOfScalar(scalar: number): KnownKey {
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(fixed(BigInt(scalar)));
  const point = new Uint8Array(ecdh.getPublicKey());
  const [x, y] = [point.subarray(1, 33), point.subarray(33)];
  return {
    point,
    compressed: new Uint8Array(ecdh.getPublicKey(null, "compressed")),
    x,
    y,
    jwk: { kty: "EC", crv: "P-256", x: base64url(x), y: base64url(y) },
  };
}

/** Scalars whose public keys have the property that the name says. */
export const RARE_SCALARS = {
  "x starts with a zero byte": 379,
  "x starts with two zero bytes": 40_393,
  "y starts with a zero byte": 43,
  "y starts with two zero bytes": 2_376,
} as const;

/** OBJECT IDENTIFIERs: id-ecPublicKey, and the named curve P-256. */
export const EC = hex("06072a8648ce3d0201");
export const NAMED_P256 = hex("06082a8648ce3d030107");

/** A BIT STRING without unused bits. */
export function bits(...contents: readonly Uint8Array[]): Uint8Array {
  return tlv(0x03, hex("00"), ...contents);
}

/** SubjectPublicKeyInfo of a P-256 key in DER, made without the code under test. */
export function spki(point: Uint8Array): Uint8Array {
  return tlv(0x30, tlv(0x30, EC, NAMED_P256), bits(point));
}

/** A PEM block around any bytes. */
export function pemOf(der: Uint8Array, label = "PUBLIC KEY", newline = "\n", width = 64): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(new RegExp(`.{1,${width}}`, "g")) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join(newline);
}
