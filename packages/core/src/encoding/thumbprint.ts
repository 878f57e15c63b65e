import { createHash } from "node:crypto";
import { readPublicJwk } from "./public-jwk.ts";
import type { JwkInput } from "./public-jwk.ts";

/**
 * The SHA-256 thumbprint of a key (RFC 7638; RFC 8037 section 2 for OKP) in base64url: 43 characters. It is the default
 * `kid`. A private key and its public key have the same thumbprint, since only the required public members are hashed.
 *
 * Members must be in their canonical encoding, so that a key has only one thumbprint.
 *
 * @throws EncodingError `invalid_jwk` for a missing or malformed member, `unsupported_key` for a key that is not EC
 * (P-256, P-384, P-521), RSA or OKP.
 * @example
 * ```ts
 * import { generateKeyPairSync } from "node:crypto";
 * import { jwkThumbprint } from "@signpost/core";
 *
 * const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
 * const kid = jwkThumbprint(publicKey.export({ format: "jwk" }));
 * ```
 */
export function jwkThumbprint(jwk: JwkInput): string {
  return thumbprintOf(readPublicJwk(jwk, { name: "jwk", code: "invalid_jwk" }));
}

/** Same as `jwkThumbprint`, for members that were already read and checked. The checks are most of the work. */
export function thumbprintOf(members: JwkInput): string {
  // RFC 7638 section 3.3: lexicographic order of the names, no white space.
  const ordered = Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify(Object.fromEntries(ordered)))
    .digest("base64url");
}
