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
