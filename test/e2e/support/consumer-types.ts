// What a user's compiler has to accept and to refuse. The gate `tarballs` compiles this file in a folder where the packed
// packages are installed, with each TypeScript and each @types/node that it names.
import { createPublicKey, generateKeyPairSync, type KeyObject, webcrypto } from "node:crypto";
import type { createServer } from "node:http";
import { createJwksEndpoint, createKeySet } from "@signpost/core";
import type { JwkInput, KeySet, PublishedKey, Signer } from "@signpost/core";
import type { LocalSignerOptions } from "@signpost/local";
import type { FetchLike, KeyFunction } from "@signpost/verify";
import { type JWK, jwtVerify } from "jose";

/** Public keys as node:crypto, Web Crypto and jose type them, and as an OP has them in its configuration. */
export async function takeKeys(key: KeyObject, cryptoKey: webcrypto.CryptoKey, jwk: JWK): Promise<KeySet> {
  const inputs: readonly JwkInput[] = [
    key.export({ format: "jwk" }),
    await webcrypto.subtle.exportKey("jwk", cryptoKey),
    jwk,
    { kty: "EC", crv: "P-256", x: "", y: "", kid: "sig-1", use: "sig", key_ops: ["verify"] },
  ];
  return createKeySet(inputs.map((publicKey) => ({ publicKey })));
}

/** And back: what is published, and what a signer says of itself, are keys for node:crypto as they are. */
export function importKeys(published: PublishedKey, signer: Signer): KeyObject[] {
  return [published.publicKey, signer.publicKey].map((key) => createPublicKey({ key, format: "jwk" }));
}

export const privateKeys: readonly LocalSignerOptions[] = [
  { privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey },
  { privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }) },
  { privateKey: { kty: "EC", crv: "P-256", x: "", y: "", d: "", kid: "sig-1" } },
];

export const verifyWithJose = (jwt: string, keys: KeyFunction): ReturnType<typeof jwtVerify> => jwtVerify(jwt, keys);

export const listener = (keys: KeySet): Parameters<typeof createServer>[1] =>
  createJwksEndpoint({ issuer: "https://op.example", keys }).listener;

export const fetches: readonly FetchLike[] = [fetch, (url, init) => fetch(url, init)];

// A type that does not resolve is `any`, which takes everything: then `false` is the wrong answer, and this does not compile.
type Takes<Value, Wanted> = Value extends Wanted ? true : false;
type Entries = Parameters<typeof createKeySet>[0];

export const taken: {
  readonly numberAsKey: Takes<readonly [{ publicKey: 42 }], Entries>;
  readonly numberAsKeyType: Takes<readonly [{ publicKey: { kty: 42 } }], Entries>;
  readonly numberAsSigner: Takes<readonly [{ signer: 42 }], Entries>;
  readonly numberAsPublishedKey: Takes<42, PublishedKey["publicKey"]>;
  readonly numberAsPrivateKey: Takes<42, LocalSignerOptions["privateKey"]>;
  readonly numberAsKeyFunction: Takes<42, KeyFunction>;
  readonly textAsBody: Takes<string, Awaited<ReturnType<FetchLike>>["body"]>;
} = {
  numberAsKey: false,
  numberAsKeyType: false,
  numberAsSigner: false,
  numberAsPublishedKey: false,
  numberAsPrivateKey: false,
  numberAsKeyFunction: false,
  textAsBody: false,
};
