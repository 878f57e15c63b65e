import { generateKeyPairSync } from "node:crypto";
import { createKeySet, type KeySet, type P256PublicJwk, type Signer, spkiToJwk } from "@signpost/core";

/** The key of RFC 7515 appendix A.3. */
export const GOLDEN_JWK: P256PublicJwk = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
};
export const GOLDEN_ETAG = '"9c44dcc938be11e00b03becb894520bbbdc1e4467c77bd699f18cb2529d7bbe6"';

/** A signer for tests that publish and never sign. */
export function publishingSigner(publicKey: P256PublicJwk = GOLDEN_JWK): Signer {
  return {
    uri: "test:published",
    publicKey,
    sign: () => Promise.reject(new Error("publishing a key must not sign")),
    close: () => Promise.resolve(),
  };
}

export function goldenSet(): KeySet {
  return createKeySet([{ keyId: "sig-golden", signer: publishingSigner() }]);
}

export function newP256Jwk(): P256PublicJwk {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return spkiToJwk(publicKey.export({ format: "der", type: "spki" }));
}

/** A set of one new key under `keyId`. */
export function setOf(keyId: string, publicKey: P256PublicJwk = newP256Jwk()): KeySet {
  return createKeySet([{ keyId, signer: publishingSigner(publicKey) }]);
}

export interface KeyPairTexts {
  readonly jwk: Record<string, unknown>;
  readonly privateJwk: Record<string, unknown>;
  readonly pem: string;
  readonly privatePem: string;
}

function texts({ publicKey, privateKey }: ReturnType<typeof generateKeyPairSync>): KeyPairTexts {
  return {
    jwk: { ...publicKey.export({ format: "jwk" }) },
    privateJwk: { ...privateKey.export({ format: "jwk" }) },
    pem: publicKey.export({ format: "pem", type: "spki" }).toString(),
    privatePem: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}

export const newEcKey = (namedCurve: string): KeyPairTexts => texts(generateKeyPairSync("ec", { namedCurve }));
export const newRsaKey = (modulusLength: number): KeyPairTexts => texts(generateKeyPairSync("rsa", { modulusLength }));
export const newOkpKey = (type: "ed25519" | "x25519"): KeyPairTexts =>
  texts(type === "ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("x25519"));

export function parseBody(body: Uint8Array): { keys: Record<string, unknown>[] } {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as { keys: Record<string, unknown>[] };
}

/** What `make` throws. */
export function thrownBy(make: () => unknown): unknown {
  try {
    make();
  } catch (error) {
    return error;
  }
  throw new Error("expected a throw");
}
