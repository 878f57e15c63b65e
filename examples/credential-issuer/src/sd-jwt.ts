import type { InputSigner } from "@signpost/core";

/** What `SDJwtVcInstance` and `SDJwtInstance` sign with. */
export function sdJwtSigner(own: InputSigner): { signAlg: "ES256"; signer: (data: string) => Promise<string> } {
  return { signAlg: "ES256", signer: async (data) => Buffer.from(await own.sign(data)).toString("base64url") };
}

/** The header of the next credential, for the key that signs now. Without a `kid` next to `x5c`, since some wallets refuse both. */
export function sdJwtHeader(own: InputSigner): Record<string, unknown> {
  const { keyId: kid, certificates } = own.key();
  return { typ: "dc+sd-jwt", ...(certificates === undefined ? { kid } : { x5c: certificates.x5c }) };
}
