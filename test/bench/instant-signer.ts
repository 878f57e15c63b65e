import { createKeySet, signJwt } from "@signpost/core";
import type { JwtClaims, Signer } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";

/**
 * A signer that immediately returns the signature that a real key made over the JWT of these claims. It fits only that one
 * token, so that everything around a signature can be measured without it.
 */
export async function instantSigner(claims: JwtClaims): Promise<Signer> {
  await using local = await openLocalSigner();
  const token = await signJwt(createKeySet([{ signer: local }]), claims);
  const signature = Buffer.from(token.split(".")[2] ?? "", "base64url");
  return { uri: "instant:", publicKey: local.publicKey, sign: async () => signature, close: async () => {} };
}
