import { p256Members } from "./p256-public-jwk.ts";
import type { P256PublicJwk } from "./p256-public-jwk.ts";
import { spkiPemToJwk } from "./spki.ts";

/**
 * A P-256 public key that a caller gave as a JWK object or as SPKI PEM, as exactly `{ kty, crv, x, y }`. `name` is the
 * caller's argument, which every message begins with.
 *
 * @throws EncodingError `invalid_jwk`, `invalid_spki`, `unsupported_key`.
 */
export function p256JwkFrom(value: unknown, name: string): P256PublicJwk {
  if (typeof value === "string") return spkiPemToJwk(value, { name, code: "invalid_spki" });
  return p256Members(value, { name, code: "invalid_jwk" });
}
