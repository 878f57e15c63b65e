import { ConfigurationError, type Signer } from "@signpost/core";
import { given } from "@signpost/core/adapter";

/** Refuses what is no signer, by the name of the argument. */
export function requireSigner(signer: Signer): void {
  if (typeof signer?.sign === "function") return;
  throw new ConfigurationError("signer", `expected a signer, got ${given(signer)}`);
}
