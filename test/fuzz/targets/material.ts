// Fixed keys, tokens and texts, so that a seed gives the same inputs everywhere.

/** RFC 7515 appendix A.3.1. */
export const EC_PRIVATE = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  d: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
} as const;

const { d: _d, ...ecPublic } = EC_PRIVATE;
export const EC_PUBLIC = ecPublic;

/** The same appendix. */
export const ES256_JWS =
  "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

/** r‖s of that token. */
export const RAW_SIGNATURE: Uint8Array = new Uint8Array(
  Buffer.from(ES256_JWS.slice(ES256_JWS.lastIndexOf(".") + 1), "base64url"),
);

/** RFC 8037 appendix A.2. */
export const ED25519_PUBLIC = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" } as const;

/** RFC 7515 appendix A.2.1. */
export const RSA_PUBLIC = {
  kty: "RSA",
  n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
  e: "AQAB",
} as const;

/** The SubjectPublicKeyInfo of `EC_PUBLIC`. */
export const EC_SPKI: Uint8Array = new Uint8Array(
  Buffer.concat([
    Buffer.from("3059301306072a8648ce3d020106082a8648ce3d03010703420004", "hex"),
    Buffer.from(EC_PUBLIC.x, "base64url"),
    Buffer.from(EC_PUBLIC.y, "base64url"),
  ]),
);

export function pemOf(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

export const EC_PEM: string = pemOf("PUBLIC KEY", EC_SPKI);

/** A JWK Set with a key of each kind. */
export const JWKS = {
  keys: [
    { ...EC_PUBLIC, kid: "ec", use: "sig", alg: "ES256", key_ops: ["verify"] },
    { ...ED25519_PUBLIC, kid: "ed", alg: "EdDSA" },
    { ...RSA_PUBLIC, kid: "rsa", alg: "RS256", use: "sig" },
    { kty: "oct", k: "c2VjcmV0", kid: "hmac" },
    { kty: "AKP", alg: "ML-DSA-44", pub: "AAAA" },
  ],
} as const;

/** A compact JWS with these parts and a signature that fits nothing. */
export function jws(header: object, claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part(header)}.${part(claims)}.${Buffer.from(RAW_SIGNATURE).toString("base64url")}`;
}

export function utf8(input: Uint8Array): string {
  return Buffer.from(input).toString("utf8");
}

/** Header values arrive as one character for each byte. */
export function latin1(input: Uint8Array): string {
  return Buffer.from(input).toString("latin1");
}

/** The value of a JSON text, or the text itself. */
export function jsonOr(input: Uint8Array): unknown {
  try {
    return JSON.parse(utf8(input)) as unknown;
  } catch {
    return utf8(input);
  }
}
