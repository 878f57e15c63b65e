import type { JsonObject } from "../jwk/json.ts";
import { isObject } from "../jwk/json.ts";
import { TokenError } from "../errors.ts";
import type { TimeRules } from "../token/claims.ts";
import {
  audiences,
  invalid,
  requireIssuer,
  requireNotExpired,
  requireStarted,
  requireString,
  requireTime,
} from "../token/claims.ts";
import { parseCompactJws, requireTyp } from "../token/compact.ts";
import { verifySignature } from "../token/signature.ts";
import type { OwnJwtRules, VerifyOwnJwtOptions } from "./own-jwt-options.ts";
import { readOwnJwtOptions } from "./own-jwt-options.ts";

/** A token that this OP issued. */
export interface VerifiedOwnJwt {
  /** The protected header. */
  readonly header: Readonly<Record<string, unknown>>;
  /** The claims, checked for the purpose. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether `exp` has passed. Only an `id_token_hint` may have expired. */
  readonly expired: boolean;
}

const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

/**
 * Verifies a token that this OP issued, for one purpose. A token of one kind is never accepted as another kind.
 *
 * Rejects with `TokenError`: `malformed_jwt`, `alg_not_allowed`, `unsupported_header`, `invalid_typ`, `bad_signature`,
 * `invalid_issuer`, `invalid_audience`, `expired`, `not_yet_valid`, `invalid_claim`; with `KeySetError` if the key is not
 * found: `missing_kid`, `unknown_kid`, `unsupported_alg`, `no_suitable_key`; and with `ConfigurationError` for an option that
 * is missing, unknown or out of bounds.
 *
 * @example
 * ```ts
 * import type { OwnKeys } from "@signpost/core";
 * import { createOwnKeySet, verifyOwnJwt } from "@signpost/verify";
 *
 * export function hintReader(issuer: string, keys: OwnKeys) {
 *   const keyFunction = createOwnKeySet(keys);
 *   return async (idTokenHint: string, clientId?: string) => {
 *     const { claims } = await verifyOwnJwt(idTokenHint, {
 *       purpose: "id_token_hint",
 *       keyFunction,
 *       issuer,
 *       audience: clientId,
 *     });
 *     return claims["sub"];
 *   };
 * }
 * ```
 */
export async function verifyOwnJwt(jwt: string, options: VerifyOwnJwtOptions): Promise<VerifiedOwnJwt> {
  const rules = readOwnJwtOptions(options);
  const jws = parseCompactJws(jwt);
  const { header, claims } = jws;
  requireTyp(header, TYPES[rules.purpose]);
  await verifySignature(jwt, jws, await rules.keyFunction({ alg: jws.alg, ...kidOf(header) }));
  requireIssuer(claims, rules.issuer);
  const time = rules.readTime();
  requireStarted(claims, time);
  const expired = judge(claims, rules, time);
  return { header, claims, expired };
}

const TYPES = {
  access_token: ["at+jwt"],
  logout_token: ["logout+jwt"],
  id_token_hint: [undefined, "jwt"],
} as const;

/** A kid that is not a string is ignored. */
function kidOf(header: JsonObject): { kid?: string } {
  const { kid } = header;
  return typeof kid === "string" ? { kid } : {};
}

/** Checks the claims for the purpose. Returns whether the token has expired. */
function judge(claims: JsonObject, { purpose, audiences: accepted }: OwnJwtRules, time: TimeRules): boolean {
  const exp = requireTime(claims, "exp");
  requireTime(claims, "iat");
  switch (purpose) {
    case "access_token":
      requireNotExpired(exp, time);
      requireAudience(claims, accepted);
      for (const claim of ["sub", "client_id", "jti"]) requireString(claims, claim);
      return false;
    case "logout_token":
      requireNotExpired(exp, time);
      requireAudience(claims, accepted);
      requireLogoutEvent(claims);
      return false;
    case "id_token_hint":
      requireString(claims, "sub");
      requireAudience(claims, accepted);
      // Otherwise a logout token without typ would be accepted as a hint.
      if (claims["events"] !== undefined) throw invalid("events", "not allowed in an ID token");
      return time.nowMs >= exp * 1000;
  }
}

function requireAudience(claims: JsonObject, accepted: readonly string[] | undefined): void {
  const present = audiences(claims);
  if (accepted !== undefined && !accepted.some((audience) => present.includes(audience))) {
    throw new TokenError("invalid_audience", "aud: expected a value or list that contains the given audience", {
      claim: "aud",
    });
  }
}

function requireLogoutEvent(claims: JsonObject): void {
  requireString(claims, "jti");
  const { events, sub, sid } = claims;
  if (!isObject(events) || !isObject(events[LOGOUT_EVENT]))
    throw invalid("events", "expected an object with the back-channel logout event");
  if (sub === undefined && sid === undefined) throw invalid("sub", "expected sub, sid or both");
  if (sub !== undefined) requireString(claims, "sub");
  if (sid !== undefined) requireString(claims, "sid");
  if (claims["nonce"] !== undefined) throw invalid("nonce", "not allowed in a logout token");
}
