import { ConfigurationError, createKeySet, type ActiveKey, type Signer } from "@signpost/core";
import { given } from "@signpost/core/adapter";

/** The signer with its public key, which is read once: what is signed names the key that the signature is verified with. */
export function readSigner(signer: Signer): ActiveKey {
  if (typeof signer?.sign === "function") return createKeySet([{ signer }]).active;
  throw new ConfigurationError("signer", `expected a signer, got ${given(signer)}`);
}
