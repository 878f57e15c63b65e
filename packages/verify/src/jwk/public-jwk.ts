import { EncodingError } from "@signpost/core";
import type { EncodingErrorCode } from "@signpost/core";
import { decodeBase64url, encodeBase64url, PRIVATE_JWK_MEMBERS, publicJwkFrom } from "@signpost/core/adapter";
import type { PublicJwk } from "@signpost/core/adapter";
import { servesCurve, servesKeyType } from "./algorithms.ts";
import { ed25519PointFault } from "./ed25519-point.ts";
import type { JsonObject } from "./json.ts";

/** Why the key of an entry is not used. */
export type KeyFault =
  | "symmetric"
  | "private"
  | "unsupported_kty"
  | "unsupported_crv"
  | "weak_rsa"
  | "small_order"
  | "malformed"
  | "not_an_object";

/** The meaning of an error from core here, after type and curve were checked. */
const FAULTS: Readonly<Partial<Record<EncodingErrorCode, KeyFault>>> = {
  invalid_jwk: "malformed",
  weak_key: "weak_rsa",
  // An RSA modulus too long for OpenSSL.
  unsupported_key: "malformed",
};

/** A longer member would cost time before it is refused. */
const MAX_MEMBER_LENGTH = 8192;
/** A longer exponent is valid but makes each verification slow. */
const MAX_RSA_EXPONENT_BYTES = 8;

/** A fault and its location. It contains no value, because the value may be a secret. */
export interface FaultyKey {
  readonly reason: KeyFault;
  readonly detail: string;
}

/** The public key in an entry that another party wrote. An entry that is not exact is refused, never corrected. */
export function readPublicJwk(entry: JsonObject): PublicJwk | FaultyKey {
  const unusable = unusableEntry(entry);
  if (unusable !== undefined) return unusable;
  const jwk = readByCore(entry);
  return "reason" in jwk ? jwk : (unsafeKey(jwk) ?? jwk);
}

/** Checks the entry before its key is read. */
function unusableEntry(entry: JsonObject): FaultyKey | undefined {
  if (Object.values(entry).some((value) => typeof value === "string" && value.length > MAX_MEMBER_LENGTH)) {
    return { reason: "malformed", detail: `a member has more than ${MAX_MEMBER_LENGTH} characters` };
  }
  const { kty, crv } = entry;
  if (kty === "oct") return { reason: "symmetric", detail: 'the member "kty" is "oct"' };
  const secret = PRIVATE_JWK_MEMBERS.find((name) => name in entry);
  if (secret !== undefined) return { reason: "private", detail: `it has the private member "${secret}"` };
  if (typeof kty !== "string") return { reason: "malformed", detail: 'the member "kty" is missing' };
  if (!servesKeyType(kty)) return { reason: "unsupported_kty", detail: 'the member "kty" is not RSA, EC or OKP' };
  return typeof crv === "string" && !servesCurve(kty, crv)
    ? { reason: "unsupported_crv", detail: 'the curve in the member "crv" is not supported' }
    : undefined;
}

function readByCore(entry: JsonObject): PublicJwk | FaultyKey {
  try {
    return publicJwkFrom(entry["kty"] === "RSA" ? { ...entry, n: withoutSignByte(entry["n"]) } : entry, "key");
  } catch (error) {
    if (error instanceof EncodingError) return { reason: FAULTS[error.code] ?? "malformed", detail: error.message };
    throw error;
  }
}

/**
 * Removes the zero byte that DER puts in front of a modulus whose top bit is set. RFC 7518 section 6.3.1.1 tells writers to omit it.
 * The number stays the same, and without that byte a key has only one thumbprint.
 */
function withoutSignByte(n: unknown): unknown {
  const bytes = typeof n === "string" ? decodeBase64url(n) : undefined;
  if (bytes === undefined || bytes[0] !== 0 || (bytes[1] ?? 0) < 0x80) return n;
  return encodeBase64url(bytes.subarray(1));
}

/** Checks for keys that are valid but not safe to verify with. */
function unsafeKey(jwk: PublicJwk): FaultyKey | undefined {
  switch (jwk.kty) {
    case "RSA":
      return bytesOf(jwk.e).length > MAX_RSA_EXPONENT_BYTES
        ? { reason: "malformed", detail: `the member "e" has more than ${MAX_RSA_EXPONENT_BYTES} bytes` }
        : undefined;
    case "OKP": {
      const reason = ed25519PointFault(bytesOf(jwk.x));
      return reason === undefined ? undefined : { reason, detail: 'the member "x" is not a safe point of the curve' };
    }
    case "EC":
      return undefined;
  }
}

/** Core has already checked that it is base64url. */
function bytesOf(text: string): Uint8Array {
  return decodeBase64url(text) ?? new Uint8Array();
}
