import { createPublicKey, type KeyObject } from "node:crypto";
import { ConfigurationError, type PublishedKey } from "@signpost/core";
import type { ExternalSigningKeyClassLike } from "./host.ts";
import type { LiveKeys } from "./live-keys.ts";

type Getters = Readonly<Record<string, () => unknown>>;

/** The key that signs. Its members are those of the currently active key. */
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
 * The place for the nth key that only verifies. The host fixes the number of its keys at construction, but not the keys. A
 * free place holds the active key under a kid that no token has. Until the plug is attached every place is free, so that
 * the host only sees ES256 there.
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
    // Because of key_ops, the host never chooses it for a signature.
    { ...publicGetters(key), key_ops: () => ["verify"] },
    {
      keyObject: () => {
        const found = taken();
        if (found === undefined)
          throw new ConfigurationError("kid", "expected the kid of a key, got the kid of a free place");
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
    // Members of other key types. The host's getters would call keyObject() once and keep the result.
    ...Object.fromEntries(["n", "e", "pub"].map((name) => [name, () => undefined])),
  };
}

/** Defines members that hide those of the host's class. A subclass would need our own type for the host's class. */
function define<Key extends object>(key: Key, getters: Getters, methods: Readonly<Record<string, unknown>>): Key {
  for (const [name, get] of Object.entries(getters)) Object.defineProperty(key, name, { get, enumerable: true });
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(key, name, { value });
  return key;
}

// A cache, since the host asks for the KeyObject on each verification. Its key is the frozen public key of the key set.
const imported = new WeakMap<object, KeyObject>();

function importKey(publicKey: PublicKeyMembers): KeyObject {
  let key = imported.get(publicKey);
  if (key === undefined) {
    key = createPublicKey({ key: { ...publicKey }, format: "jwk" });
    imported.set(publicKey, key);
  }
  return key;
}
