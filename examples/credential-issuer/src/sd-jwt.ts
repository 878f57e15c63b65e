import { ConfigurationError, type InputSigner } from "@signpost/core";
import type { Chains } from "./chains.ts";

/** What `SDJwtVcInstance` and `SDJwtInstance` sign with. */
export function sdJwtSigner(own: InputSigner): { signAlg: "ES256"; signer: (data: string) => Promise<string> } {
  return { signAlg: "ES256", signer: async (data) => Buffer.from(await own.sign(data)).toString("base64url") };
}

/** The header of the next credential. Call it for each one, so that it names the key that signs now. Once a key has a chain, each needs one. */
export function sdJwtHeader(own: InputSigner, chains: Chains): Record<string, unknown> {
  const { keyId: kid } = own.key();
  const x5c = chains.get(kid);
  if (x5c === undefined && chains.size > 0) throw new ConfigurationError("chains", `none of the key ${kid}`);
  return { typ: "dc+sd-jwt", kid, x5c };
}
