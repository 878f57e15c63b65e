import type { JsonObject } from "../jwk/json.ts";
import { isObject } from "../jwk/json.ts";
import { TokenError } from "../errors.ts";
import type { TimeOptions, TimeRules } from "../token/claims.ts";
import {
  audiences,
  invalid,
  requireIssuer,
  requireNotExpired,
  requireStarted,
  requireString,
  requireTime,
  timeRules,
} from "../token/claims.ts";
import { parseCompactJws, requireTyp } from "../token/compact.ts";
import { verifySignature } from "../token/signature.ts";
import type { OwnKeyFunction } from "./own-key-set.ts";

interface OwnJwtCommon extends TimeOptions {
  /** The OP's own keys, by `createOwnKeySet`. */
  readonly keyFunction: OwnKeyFunction;
  /** This OP's issuer, compared byte for byte. */
  readonly issuer: string;
}

/** RFC 9068: `typ` is `at+jwt`; `exp`, `iat`, `sub`, `client_id` and `jti` are required. */
export interface AccessTokenOptions extends OwnJwtCommon {
  readonly purpose: "access_token";
  /** The resource server, or several names of it: one of them must be in `aud`. */
  readonly audience: string | readonly string[];
}

/** OpenID Connect Back-Channel Logout 1.0 section 2.6: `typ` is `logout+jwt`. */
export interface LogoutTokenOptions extends OwnJwtCommon {
  readonly purpose: "logout_token";
  /** The client that is told. */
  readonly audience: string;
}

/**
 * `id_token_hint` of RP-Initiated Logout 1.0 and of authorization requests: an ID token that this OP issued once. It
 * may have expired, and its key may be withdrawn.
 */
export interface IdTokenHintOptions extends OwnJwtCommon {
  readonly purpose: "id_token_hint";
  /** The client, where the request names one. */
  readonly audience?: string | undefined;
}

export type VerifyOwnJwtOptions = AccessTokenOptions | LogoutTokenOptions | IdTokenHintOptions;

export interface VerifiedOwnJwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Only an `id_token_hint` may be. */
  readonly expired: boolean;
}

const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

/**
 * Verifies a token that this OP issued, for one purpose: a token of one kind is never taken for another.
 *
 * Rejects with `TokenError` or, where the key is not found, `KeySetError`.
 */
export async function verifyOwnJwt(jwt: string, options: VerifyOwnJwtOptions): Promise<VerifiedOwnJwt> {
  const readTime = timeRules(options);
  const jws = parseCompactJws(jwt);
  const { header, claims } = jws;
  requireTyp(header, TYPES[options.purpose]);
  const keyFunction = options.purpose === "id_token_hint" ? options.keyFunction.forIdTokenHint : options.keyFunction;
  await verifySignature(jwt, jws, await keyFunction({ alg: jws.alg, ...kidOf(header) }));
  requireIssuer(claims, options.issuer);
  const rules = readTime();
  requireStarted(claims, rules);
  const expired = judge(claims, options, rules);
  return { header, claims, expired };
}

const TYPES = {
  access_token: ["at+jwt"],
  logout_token: ["logout+jwt"],
  id_token_hint: [undefined, "jwt"],
} as const;

/** A kid that is no string is none. */
function kidOf(header: JsonObject): { kid?: string } {
  const { kid } = header;
  return typeof kid === "string" ? { kid } : {};
}

/** What the purpose asks of the claims. Returns whether the token has expired. */
function judge(claims: JsonObject, options: VerifyOwnJwtOptions, rules: TimeRules): boolean {
  const exp = requireTime(claims, "exp");
  requireTime(claims, "iat");
  switch (options.purpose) {
    case "access_token":
      requireNotExpired(exp, rules);
      requireAudience(claims, options.audience);
      for (const claim of ["sub", "client_id", "jti"]) requireString(claims, claim);
      return false;
    case "logout_token":
      requireNotExpired(exp, rules);
      requireAudience(claims, options.audience);
      requireLogoutEvent(claims);
      return false;
    case "id_token_hint":
      requireString(claims, "sub");
      if (options.audience === undefined) audiences(claims);
      else requireAudience(claims, options.audience);
      // A logout token without typ would otherwise pass for a hint.
      if (claims["events"] !== undefined) throw invalid("events", "expected none in an ID token");
      return rules.nowMs >= exp * 1000;
  }
}

function requireAudience(claims: JsonObject, wanted: string | readonly string[]): void {
  const present = audiences(claims);
  const accepted = typeof wanted === "string" ? [wanted] : wanted;
  if (!accepted.some((audience) => present.includes(audience))) {
    throw new TokenError("invalid_audience", "aud: expected the given audience", { claim: "aud" });
  }
}

function requireLogoutEvent(claims: JsonObject): void {
  requireString(claims, "jti");
  const { events, sub, sid } = claims;
  if (!isObject(events) || !isObject(events[LOGOUT_EVENT])) throw invalid("events", "expected the logout event");
  if (sub === undefined && sid === undefined) throw invalid("sub", "expected sub, sid or both");
  if (sub !== undefined) requireString(claims, "sub");
  if (sid !== undefined) requireString(claims, "sid");
  if (claims["nonce"] !== undefined) throw invalid("nonce", "expected none in a logout token");
}
