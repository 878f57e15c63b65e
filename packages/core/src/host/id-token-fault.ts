import type { ReadSigningInput } from "./signing-input.ts";

/**
 * What makes a verified token another kind of token than an ID token. Undefined for an ID token. OPs need it for an
 * `id_token_hint`, since hosts only verify its signature. The key, the issuer and the audience are left to the host.
 *
 * An access token or a logout token has another `typ`. Some tokens have none, so the claims count too: userinfo as a JWT may
 * have no `exp`, an authorization response has no `iat`, and only a logout token has `events`.
 *
 * @example
 * ```ts
 * import { idTokenFault, readSigningInput } from "@signpost/core/adapter";
 *
 * export function requireIdToken(verifiedHint: string): void {
 *   const fault = idTokenFault(readSigningInput(verifiedHint));
 *   if (fault !== undefined) throw new Error(`the id_token_hint is another kind of token: ${fault}`);
 * }
 * ```
 */
export function idTokenFault({ header: { typ }, claims: { exp, iat, events } }: ReadSigningInput): string | undefined {
  if (typ !== undefined && !(typeof typ === "string" && /^(application\/)?jwt$/i.test(typ)))
    return "its typ is not JWT";
  if (typeof exp === "number" && typeof iat === "number" && events === undefined) return undefined;
  return "its claims are not those of an ID token";
}
