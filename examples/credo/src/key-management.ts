import type { Kms } from "@credo-ts/core";
import { createInputSigner, currentKeySet, type KeySetSource } from "@signpost/core";

/** A backend for Credo's `KeyManagementModule`, which only signs. Its key ids are the kids of the keys. */
export function signpostBackend(keys: KeySetSource): Kms.KeyManagementService {
  const own = createInputSigner(keys);
  const jwks = () => currentKeySet(keys).keys.map((key) => ({ ...key.publicKey, kid: key.keyId }) as Kms.KmsJwkPublic);
  return {
    ...({ backend: "signpost" } as Kms.KeyManagementService),
    isOperationSupported: (_, asked) => asked.operation === "sign" && asked.algorithm === "ES256",
    // Null for the key of another backend, and for a withdrawn key. A key that is announced is there, but does not sign yet.
    getPublicKey: async (_, kid) => jwks().find((jwk) => jwk.kid === kid) ?? null,
    sign: async (_, { keyId, data }) => ({ signature: new Uint8Array(await own.signAs(keyId, data)) }),
  };
}
