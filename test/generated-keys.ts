import crypto, { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

// Node 20 locks a generated key while it reads it, and again when garbage collection finds the generator meanwhile: the
// process then stands still for good. A copy of the key has no generator.
interface Pair {
  readonly publicKey: unknown;
  readonly privateKey: unknown;
}
const generate = crypto.generateKeyPairSync as unknown as (type: string, options: unknown) => Pair;

function copyOf(key: unknown): unknown {
  if (!(key instanceof crypto.KeyObject)) return key;
  return key.type === "private" ? privateCopy(key) : publicCopy(key);
}

function privateCopy(key: KeyObject): KeyObject {
  return createPrivateKey({ key: key.export({ format: "der", type: "pkcs8" }), format: "der", type: "pkcs8" });
}

function publicCopy(key: KeyObject): KeyObject {
  return createPublicKey({ key: key.export({ format: "der", type: "spki" }), format: "der", type: "spki" });
}

Object.assign(crypto, {
  generateKeyPairSync: (type: string, options: unknown): Pair => {
    const { publicKey, privateKey } = generate(type, options);
    return { publicKey: copyOf(publicKey), privateKey: copyOf(privateKey) };
  },
});
syncBuiltinESMExports();
