import { createPublicKey, type JsonWebKeyInput, randomBytes, verify } from "node:crypto";
import type { Kms } from "@credo-ts/core";

/** What Signpost's backend does not do: random bytes, and verification with public keys. Credo's own backends do it too. */
export function nodeBackend(): Kms.KeyManagementService {
  const refuse = (): never => {
    throw new Error("this backend has no keys");
  };
  return {
    backend: "node",
    isOperationSupported: (_, asked) =>
      asked.operation === "randomBytes" || (asked.operation === "verify" && asked.algorithm === "ES256"),
    getPublicKey: async () => null,
    randomBytes: (_, { length }) => new Uint8Array(randomBytes(length)),
    verify: async (_, { key, data, signature }) => {
      if (typeof key === "string" || key.publicJwk === undefined) return { verified: false };
      const { publicJwk } = key;
      const publicKey = createPublicKey({ key: { ...publicJwk } as JsonWebKeyInput["key"], format: "jwk" });
      const verified = verify("sha256", data, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature);
      return verified ? { verified, publicJwk } : { verified };
    },
    createKey: refuse,
    importKey: refuse,
    deleteKey: refuse,
    sign: refuse,
    encrypt: refuse,
    decrypt: refuse,
  };
}
