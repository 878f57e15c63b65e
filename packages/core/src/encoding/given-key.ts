import { createPublicKey } from "node:crypto";
import type { P256PublicJwk } from "./ec-point.ts";
import { fault, unsupportedKey, weakKey } from "./fault.ts";
import type { Subject } from "./fault.ts";
import { readP256PublicJwk, readPublicJwk, refusePrivateMembers } from "./public-jwk.ts";
import type { PublicJwk } from "./public-jwk.ts";
import { publicKeyPemToDer, spkiPemToJwk } from "./spki.ts";

// Public keys as callers give them: a JWK object, or SPKI PEM.

/**
 * Reads a P-256 public key that a caller gave as a JWK object or as SPKI PEM. Returns exactly `{ kty, crv, x, y }`. Every
 * message starts with `name`, the caller's argument.
 *
 * @throws EncodingError `invalid_jwk`, `invalid_spki`, `unsupported_key`.
 * @example
 * ```ts
 * import type { JwkInput } from "@signpost/core";
 * import { p256JwkFrom } from "@signpost/core/adapter";
 *
 * export const pinnedKey = (publicKey: JwkInput | string) => p256JwkFrom(publicKey, "publicKey");
 * ```
 */
export function p256JwkFrom(value: unknown, name: string): P256PublicJwk {
  if (typeof value === "string") return spkiPemToJwk(value, { name, code: "invalid_spki" });
  return readP256PublicJwk(value, { name, code: "invalid_jwk" });
}

const MIN_RSA_BITS = 2048;
/** The largest modulus that OpenSSL accepts. Most RPs use OpenSSL. */
const MAX_RSA_BITS = 16_384;

/**
 * Reads a public key of any supported type that a caller gave as a JWK or as SPKI PEM. Returns its public members only.
 * RSA keys must have 2048 to 16384 bits (RFC 7518 sections 3.3 and 4.3) and an odd exponent above 1.
 *
 * @throws EncodingError `invalid_jwk`, `invalid_spki`, `unsupported_key` or `weak_key`.
 * @example
 * ```ts
 * import { publicJwkFrom } from "@signpost/core/adapter";
 *
 * export const isRsa = (jwk: unknown): boolean => publicJwkFrom(jwk, "jwk").kty === "RSA";
 * ```
 */
export function publicJwkFrom(value: unknown, name: string): PublicJwk {
  const subject: Subject = { name, code: typeof value === "string" ? "invalid_spki" : "invalid_jwk" };
  const jwk = typeof value === "string" ? anySpkiPemToJwk(value, subject) : value;
  refusePrivateMembers(jwk, subject);
  const members = readPublicJwk(jwk, subject);
  if (members.kty === "RSA") requireUsableRsa(members, subject);
  return members;
}

function anySpkiPemToJwk(pem: string, subject: Subject): unknown {
  const der = publicKeyPemToDer(pem, subject);
  try {
    const key = createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" });
    const jwk = key.export({ format: "jwk" });
    // OpenSSL also reads BER, and ignores bytes after the key.
    if (key.export({ format: "der", type: "spki" }).equals(der)) return jwk;
  } catch (cause) {
    throw fault(subject, "not a SubjectPublicKeyInfo, or its key type has no JWK form", { cause });
  }
  throw fault(subject, "not DER, or there are bytes after the key");
}

function requireUsableRsa(members: { readonly n: string; readonly e: string }, subject: Subject): void {
  const modulus = Buffer.from(members.n, "base64url");
  const exponent = Buffer.from(members.e, "base64url");
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  const size = `an RSA key of ${bits} bits, expected ${MIN_RSA_BITS} to ${MAX_RSA_BITS}`;
  if (bits < MIN_RSA_BITS) throw weakKey(subject, size);
  if (bits > MAX_RSA_BITS) throw unsupportedKey(subject, size);
  if (!isOdd(modulus)) throw fault(subject, 'the member "n" is even, so it is not an RSA modulus');
  if (!isOdd(exponent) || (exponent.length === 1 && exponent[0] === 1)) {
    throw fault(subject, 'the member "e" is even or 1, so it is not an RSA exponent');
  }
}

function isOdd(bytes: Uint8Array): boolean {
  return ((bytes.at(-1) ?? 0) & 1) === 1;
}
