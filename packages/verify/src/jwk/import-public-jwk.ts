import { createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { PublicJwk } from "@signpost/core/adapter";
import type { CryptoKey } from "jose";

/** A public key that is imported when it is first used, for jose (WebCrypto) or for node:crypto. */
export interface VerifierKey {
  /** Imported once for each algorithm. */
  cryptoKey(alg: string): Promise<CryptoKey>;
  /** Imported once. */
  keyObject(): KeyObject;
}

/** The imports of a key that was checked before. */
export function verifierKey(publicJwk: PublicJwk): VerifierKey {
  const imported = new Map<string, Promise<CryptoKey>>();
  let keyObject: KeyObject | undefined;
  return {
    cryptoKey: (alg) => importOnce(imported, alg, publicJwk),
    keyObject: () => (keyObject ??= createPublicKey({ key: { ...publicJwk }, format: "jwk" })),
  };
}

/** Imports with jose. It is loaded with the first key, so a process starts without it. */
async function importPublicJwk(publicJwk: PublicJwk, alg: string): Promise<CryptoKey> {
  const { importJWK } = await import("jose/key/import");
  const key = await importJWK({ ...publicJwk }, alg);
  // Only symmetric keys come back as bytes.
  if (key instanceof Uint8Array) throw new TypeError("expected an asymmetric key");
  return key;
}

/** After a failed import, for example because no file could be opened to load jose, the next caller tries again. */
function importOnce(imported: Map<string, Promise<CryptoKey>>, alg: string, publicJwk: PublicJwk): Promise<CryptoKey> {
  const known = imported.get(alg);
  if (known !== undefined) return known;
  const key = importPublicJwk(publicJwk, alg);
  imported.set(alg, key);
  key.catch(() => imported.delete(alg));
  return key;
}
