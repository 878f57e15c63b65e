import type { OidcProviderSigningLike } from "./host.ts";
import { readJoseHeader } from "./signing-input.ts";

/**
 * Has the provider refuse an `id_token_hint` that names no key, or names one by anything but a string: the host would
 * try each of its keys. Hints of clients that agreed on HMAC have no kid, and are the host's business.
 */
export function requireKidOfHints({ IdToken }: OidcProviderSigningLike): void {
  const { validate } = IdToken;
  IdToken.validate = async (token, client) => {
    const symmetric = String(client.idTokenSignedResponseAlg).startsWith("HS");
    if (!symmetric && typeof readJoseHeader(token)["kid"] !== "string") {
      throw new Error("the id_token_hint has no kid that is a string");
    }
    return validate.call(IdToken, token, client);
  };
}
