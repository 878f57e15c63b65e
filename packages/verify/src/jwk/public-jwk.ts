import { EncodingError } from "@signpost/core";
import type { EncodingErrorCode } from "@signpost/core";
import { decodeBase64url, PRIVATE_JWK_MEMBERS, publicJwkFrom } from "@signpost/core/adapter";
import type { PublicJwk } from "@signpost/core/adapter";
import { servesCurve, servesKeyType } from "./algorithms.ts";
import { ed25519PointFault } from "./ed25519-point.ts";
import type { JsonObject } from "./json.ts";
import { isObject } from "./json.ts";

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

/** What core's refusal means here, where type and curve were judged before. */
const FAULTS: Readonly<Partial<Record<EncodingErrorCode, KeyFault>>> = {
  invalid_jwk: "malformed",
  weak_key: "weak_rsa",
  // An RSA modulus that is too long for OpenSSL.
  unsupported_key: "malformed",
};

/** A longer member costs time before it is refused. */
const MAX_MEMBER_LENGTH = 8192;
/** A long exponent is valid, and makes each verification slow. */
const MAX_RSA_EXPONENT_BYTES = 8;

/** The public key in an entry of a set that another party wrote: what is not exact is refused, never mended. */
export function readPublicJwk(entry: unknown): PublicJwk | KeyFault {
  if (!isObject(entry)) return "not_an_object";
  const unusable = unusableEntry(entry);
  if (unusable !== undefined) return unusable;
  const jwk = readByCore(entry);
  return typeof jwk === "string" ? jwk : (unsafeKey(jwk) ?? jwk);
}

/** What an entry says of itself, before its key is read. */
function unusableEntry(entry: JsonObject): KeyFault | undefined {
  if (Object.values(entry).some((value) => typeof value === "string" && value.length > MAX_MEMBER_LENGTH)) {
    return "malformed";
  }
  const { kty, crv } = entry;
  if (kty === "oct") return "symmetric";
  if (PRIVATE_JWK_MEMBERS.some((name) => name in entry)) return "private";
  if (typeof kty !== "string") return "malformed";
  if (!servesKeyType(kty)) return "unsupported_kty";
  return typeof crv === "string" && !servesCurve(kty, crv) ? "unsupported_crv" : undefined;
}

function readByCore(entry: JsonObject): PublicJwk | KeyFault {
  try {
    return publicJwkFrom(entry, "jwk");
  } catch (error) {
    if (error instanceof EncodingError) return FAULTS[error.code] ?? "malformed";
    throw error;
  }
}

/** Keys that are valid, but not safe to verify with. */
function unsafeKey(jwk: PublicJwk): KeyFault | undefined {
  switch (jwk.kty) {
    case "RSA":
      return bytesOf(jwk.e).length > MAX_RSA_EXPONENT_BYTES ? "malformed" : undefined;
    case "OKP":
      return ed25519PointFault(bytesOf(jwk.x));
    case "EC":
      return undefined;
  }
}

/** Core has read it: it is base64url. */
function bytesOf(member: string): Uint8Array {
  return decodeBase64url(member) ?? new Uint8Array();
}
