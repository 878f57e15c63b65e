import type { JsonWebKey, KeyObject } from "node:crypto";
import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";

/** A key pair of an OP or RP, with what it signs. */
export interface TestKey {
  readonly kid: string;
  readonly alg: string;
  readonly jwk: JsonWebKey;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  token(claims?: Record<string, unknown>): Promise<string>;
}

const MAKERS = {
  ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ES384: () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
  ES512: () => generateKeyPairSync("ec", { namedCurve: "P-521" }),
  RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  PS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  EdDSA: () => generateKeyPairSync("ed25519"),
} as const;

export function testKey(kid: string, alg: keyof typeof MAKERS = "ES256"): TestKey {
  const { publicKey, privateKey } = MAKERS[alg]();
  return {
    kid,
    alg,
    jwk: { ...publicKey.export({ format: "jwk" }), kid, alg, use: "sig" },
    publicKey,
    privateKey,
    token: (claims = {}) => new SignJWT(claims).setProtectedHeader({ alg, kid }).sign(privateKey),
  };
}
