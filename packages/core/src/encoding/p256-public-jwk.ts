import { unsupportedKey } from "./fault.ts";
import type { Subject } from "./fault.ts";
import { publicMembers, refusePrivateMembers } from "./public-members.ts";

/**
 * A P-256 public key as a JWK (RFC 7517, RFC 7518 section 6.2.1): `x` and `y` are exactly 32 bytes each,
 * in unpadded base64url (43 characters).
 */
export interface P256PublicJwk {
  readonly kty: "EC";
  readonly crv: "P-256";
  readonly x: string;
  readonly y: string;
}

/**
 * Exactly `{ kty, crv, x, y }` of a P-256 public JWK, frozen. Private members, another key type or curve, points off
 * the curve and coordinates in any but their one encoding are refused; other members are left out.
 */
export function p256Members(jwk: unknown, subject: Subject): P256PublicJwk {
  refusePrivateMembers(jwk, subject);
  const members = publicMembers(jwk, subject);
  if (members.kty !== "EC" || members.crv !== "P-256") {
    throw unsupportedKey(subject, "expected an EC key on the curve P-256");
  }
  return Object.freeze({ kty: members.kty, crv: members.crv, x: members.x, y: members.y });
}
