import type { CryptoKey, JWK } from "jose";

/** Imports with jose. It is loaded with the first key, so a process starts without it. */
async function importPublicJwk(publicJwk: Readonly<JWK>, alg: string): Promise<CryptoKey> {
  const { importJWK } = await import("jose/key/import");
  const key = await importJWK({ ...publicJwk }, alg);
  // Only symmetric keys come back as bytes.
  if (key instanceof Uint8Array) throw new TypeError("expected an asymmetric key");
  return key;
}

/** A Map or a WeakMap of imported keys. */
interface Imported<Name> {
  get(name: Name): Promise<CryptoKey> | undefined;
  set(name: Name, key: Promise<CryptoKey>): unknown;
  delete(name: Name): boolean;
}

/** Imports a key once. After a failed import, for example because no file could be opened to load jose, the next caller tries again. */
export function importOnce<Name>(
  imported: Imported<Name>,
  name: Name,
  publicJwk: Readonly<JWK>,
  alg: string,
): Promise<CryptoKey> {
  const known = imported.get(name);
  if (known !== undefined) return known;
  const key = importPublicJwk(publicJwk, alg);
  imported.set(name, key);
  key.catch(() => imported.delete(name));
  return key;
}
