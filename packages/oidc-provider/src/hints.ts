import type { OidcProviderSigningLike } from "./host.ts";
import { readJoseHeader } from "./signing-input.ts";

/**
 * Makes the provider refuse an `id_token_hint` whose kid is missing or not a string. The host would try each of its keys.
 * Hints of clients that use HMAC have no kid, and are left to the host.
 */
export function requireKidOfHints({ IdToken }: OidcProviderSigningLike): void {
  const { validate } = IdToken;
  IdToken.validate = async (token, client) => {
    const symmetric = String(client.idTokenSignedResponseAlg).startsWith("HS");
    if (!symmetric && typeof readJoseHeader(token)["kid"] !== "string") {
      throw new Error("the id_token_hint has no kid, or its kid is not a string");
    }
    return validate.call(IdToken, token, client);
  };
}
