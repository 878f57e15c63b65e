import { createHash } from "node:crypto";
import { readPublicJwk } from "./public-jwk.ts";
import type { JwkInput } from "./public-jwk.ts";

/**
 * The SHA-256 thumbprint of a key (RFC 7638; RFC 8037 section 2 for OKP), in base64url: 43 characters, the default
 * `kid`. The same for a public key and its private one, since only the required public members enter it.
 *
 * Members must be in their one valid encoding, so that a key has only one thumbprint.
 *
 * @throws EncodingError `invalid_jwk` for a missing or malformed member, `unsupported_key` for a key that is
 * none of EC (P-256, P-384, P-521), RSA and OKP.
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

/** As `jwkThumbprint`, of the members that a reader made: reading them is nearly all the work. */
export function thumbprintOf(members: JwkInput): string {
  // RFC 7638 section 3.3: lexicographic order of the names, no white space.
  const ordered = Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify(Object.fromEntries(ordered)))
    .digest("base64url");
}
