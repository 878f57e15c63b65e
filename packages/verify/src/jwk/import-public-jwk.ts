import type { CryptoKey, JWK } from "jose";

/** Imports with jose. It is loaded with the first key, so a process starts without it. */
export async function importPublicJwk(publicJwk: Readonly<JWK>, alg: string): Promise<CryptoKey> {
  const { importJWK } = await import("jose/key/import");
  const key = await importJWK({ ...publicJwk }, alg);
  // Only symmetric keys come back as bytes.
  if (key instanceof Uint8Array) throw new TypeError("expected an asymmetric key");
  return key;
}
