import { createPublicKey, type KeyObject } from "node:crypto";
import { ConfigurationError, type PublishedKey } from "@signpost/core";
import type { ExternalSigningKeyClassLike } from "./host.ts";
import type { LiveKeys } from "./live-keys.ts";

type Getters = Readonly<Record<string, () => unknown>>;

/** The key that signs: its members are those of whichever key is active at that moment. */
export function signingKey<Key extends object>(
  hostClass: ExternalSigningKeyClassLike<Key>,
  keys: LiveKeys,
  sign: (data: Uint8Array) => Promise<Uint8Array>,
): Key {
  return define(new hostClass(), publicGetters(keys.active), {
    keyObject: () => importKey(keys.active().publicKey),
    sign,
  });
}

/**
 * The place of the nth key that only verifies. The host fixes how many keys it knows when it is constructed, not which:
 * a free place holds the active key under a kid that no token has. Until the plug is attached every place is free, so
 * that the host reads nothing but ES256 from it.
 */
export function verifyingPlace<Key extends object>(
  hostClass: ExternalSigningKeyClassLike<Key>,
  keys: LiveKeys,
  index: number,
  attached: () => boolean,
): Key {
  const taken = (): PublishedKey | undefined => (attached() ? keys.verifying()[index] : undefined);
  const key = (): PublicMembers =>
    taken() ?? { keyId: `signpost-free-place-${index}`, publicKey: keys.active().publicKey };
  return define(
    new hostClass(),
    // key_ops keeps the host from ever choosing it for a signature.
    { ...publicGetters(key), key_ops: () => ["verify"] },
    {
      keyObject: () => {
        const found = taken();
        if (found === undefined)
          throw new ConfigurationError("kid", "expected the kid of a key, got that of a free place");
        return importKey(found.publicKey);
      },
      sign: () =>
        Promise.reject(new ConfigurationError("kid", "expected the kid of the active key: this one only verifies")),
    },
  );
}

type PublicKeyMembers = Readonly<Partial<Record<"kty" | "crv" | "x" | "y", string>>>;

interface PublicMembers {
  readonly keyId: string;
  readonly publicKey: PublicKeyMembers;
}

function publicGetters(key: () => PublicMembers): Getters {
  return {
    kid: () => key().keyId,
    alg: () => "ES256",
    kty: () => "EC",
    crv: () => "P-256",
    x: () => key().publicKey.x,
    y: () => key().publicKey.y,
    // Of other key types; the host's own getters would ask keyObject() once and keep the answer.
    ...Object.fromEntries(["n", "e", "pub"].map((name) => [name, () => undefined])),
  };
}

/** Own members in front of those of the host's class: no subclass, so that the host's class needs no type of ours. */
function define<Key extends object>(key: Key, getters: Getters, methods: Readonly<Record<string, unknown>>): Key {
  for (const [name, get] of Object.entries(getters)) Object.defineProperty(key, name, { get, enumerable: true });
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(key, name, { value });
  return key;
}

// Keyed by the key set's own frozen object: the host asks for the KeyObject again on each verification.
const imported = new WeakMap<object, KeyObject>();

function importKey(publicKey: PublicKeyMembers): KeyObject {
  let key = imported.get(publicKey);
  if (key === undefined) {
    key = createPublicKey({ key: { ...publicKey }, format: "jwk" });
    imported.set(publicKey, key);
  }
  return key;
}
