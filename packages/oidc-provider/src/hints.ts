import { readSigningInput } from "@signpost/core/adapter";
import type { OidcProviderSigningLike } from "./host.ts";

/**
 * Makes the provider refuse an `id_token_hint` that is another kind of token, such as an access token or a logout token, and
 * one whose kid is missing or not a string. The host would try each of its keys. Hints of clients that use HMAC have no kid.
 * Some tokens have no typ, so their claims are checked too, as in `verifyOwnJwt`.
 */
export function requireHeaderOfHints({ IdToken }: OidcProviderSigningLike): void {
  const { validate } = IdToken;
  IdToken.validate = async (token, client) => {
    const { typ, kid } = readSigningInput(token).header;
    if (typ !== undefined && !(typeof typ === "string" && /^(application\/)?jwt$/i.test(typ))) {
      throw new Error("the id_token_hint is another kind of token: its typ is not JWT");
    }
    const symmetric = String(client.idTokenSignedResponseAlg).startsWith("HS");
    if (!symmetric && typeof kid !== "string") {
      throw new Error("the id_token_hint has no kid, or its kid is not a string");
    }
    const validated = await validate.call(IdToken, token, client);
    requireIdToken(validated.payload);
    return validated;
  };
}

/** Userinfo as a JWT may have no `exp`, an authorization response has no `iat`, and only a logout token has `events`. */
function requireIdToken({ exp, iat, events }: Readonly<Record<string, unknown>>): void {
  if (typeof exp === "number" && typeof iat === "number" && events === undefined) return;
  throw new Error("the id_token_hint is another kind of token: its claims are not those of an ID token");
}
