import { idTokenFault, readSigningInput } from "@signpost/core/adapter";
import type { OidcProviderSigningLike } from "./host.ts";

/**
 * Makes the provider refuse an `id_token_hint` that is another kind of token, such as an access token or a logout token, and
 * one whose kid is missing or not a string. The host would try each of its keys. Hints of clients that use HMAC have no kid.
 */
export function requireHeaderOfHints({ IdToken }: OidcProviderSigningLike): void {
  const { validate } = IdToken;
  IdToken.validate = async (token, client) => {
    const { header } = readSigningInput(token);
    const symmetric = String(client.idTokenSignedResponseAlg).startsWith("HS");
    if (!symmetric && typeof header["kid"] !== "string") {
      throw new Error("the id_token_hint has no kid, or its kid is not a string");
    }
    const validated = await validate.call(IdToken, token, client);
    const fault = idTokenFault({ header, claims: validated.payload });
    if (fault !== undefined) throw new Error(`the id_token_hint is another kind of token: ${fault}`);
    return validated;
  };
}
