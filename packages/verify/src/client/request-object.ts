import { assertOptions, readFlag, readText } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { TokenError } from "../errors.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import { requireFunction } from "../read-options.ts";
import {
  invalid,
  optionalTime,
  requireAmongAudiences,
  requireLifetime,
  requireNotExpired,
  requireSoleAudience,
  requireStarted,
} from "../token/claims.ts";
import type { ClientJwsOptions } from "./client-jws-options.ts";
import { CLIENT_JWS_OPTIONS, readClientJwsOptions } from "./client-jws-options.ts";
import { parseClientJws, requireClientTyp, verifyClientSignature } from "./verify-client-jws.ts";

/** Options of `verifyRequestObject`. */
export interface RequestObjectOptions extends ClientJwsOptions {
  /** The `client_id` parameter of the authorization request. */
  readonly clientId: string;
  /** Finds the registered keys of that client. */
  readonly keyFunction: KeyFunction;
  /**
   * Accepts other values of `aud` in addition to the issuer (OpenID Connect Core 1.0 section 6.1: "be or include"). Certification for
   * FAPI 2.0 Message Signing requires this. Such a request object may also be meant for another OP. Default false: `aud` must be only
   * the issuer.
   */
  readonly allowOtherAudiences?: boolean | undefined;
}

const REQUEST_OBJECT_OPTIONS: OptionNames<RequestObjectOptions> = {
  ...CLIENT_JWS_OPTIONS,
  clientId: true,
  keyFunction: true,
  allowOtherAudiences: true,
};

/** A verified request object, made by the client for this OP. */
export interface VerifiedRequestObject {
  /** The authorization request parameters, and the claims of the JWT. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * Verifies a signed request object (RFC 9101, JAR). It must be made by the client of the request for this OP. It must not be another
 * kind of JWT, and must not contain another request object.
 *
 * Rejects with `TokenError`: every code except `unknown_client`, `invalid_issuer`, `replayed` and `replay_store_unavailable`; with
 * `KeySetError` if no key of the client fits; and with `ConfigurationError` for an option that is missing, unknown or out of bounds.
 *
 * @example
 * ```ts
 * import { createStaticKeySet, verifyRequestObject } from "@signpost/verify";
 *
 * export async function parametersOf(request: string, client: { id: string; jwks: { keys: unknown[] } }) {
 *   const { claims } = await verifyRequestObject(request, {
 *     issuer: "https://op.example",
 *     clientId: client.id,
 *     // A client with one key may omit its `kid`.
 *     keyFunction: createStaticKeySet(client.jwks, { allowMissingKid: true }),
 *   });
 *   return claims;
 * }
 * ```
 */
export async function verifyRequestObject(jwt: string, options: RequestObjectOptions): Promise<VerifiedRequestObject> {
  const rules = readOptions(options);
  const { clientId, maxLifetimeSeconds } = rules;
  const jws = parseClientJws(jwt, rules.algorithms);
  const { claims } = jws;
  // General JWT libraries write `JWT`, and requiring more breaks clients (RFC 9101 section 10.8). The claims decide.
  requireClientTyp(jws, "oauth-authz-req+jwt", rules);
  await verifyClientSignature(jwt, jws, rules.keyFunction);

  const time = rules.readTime();
  if (claims["client_id"] !== clientId) throw mismatch("client_id");
  if (claims["iss"] !== undefined && claims["iss"] !== clientId) throw mismatch("iss");
  // RFC 9101 section 10.8: an object with sub = client_id could be used as a client assertion.
  if (claims["sub"] === clientId)
    throw invalid("sub", "not allowed: the value of client_id, because such a JWT could be used as a client assertion");
  for (const claim of ["request", "request_uri"]) {
    if (claims[claim] !== undefined) throw invalid(claim, "not allowed inside a request object");
  }
  if (rules.allowOtherAudiences) requireAmongAudiences(claims, rules.issuer);
  else requireSoleAudience(claims, rules.issuer);
  requireStarted(claims, time);
  const exp = optionalTime(claims, "exp");
  if (exp !== undefined) requireNotExpired(exp, time);
  if (maxLifetimeSeconds !== undefined) {
    if (exp === undefined) throw invalid("exp", "expected a number of seconds");
    requireLifetime(claims, exp, { maxSeconds: maxLifetimeSeconds, starts: ["iat", "nbf"] }, time);
  }
  return { claims };
}

function readOptions(options: RequestObjectOptions) {
  assertOptions("options", options, REQUEST_OBJECT_OPTIONS);
  return {
    ...readClientJwsOptions(options),
    clientId: readText("clientId", options.clientId),
    keyFunction: requireFunction("keyFunction", options.keyFunction, "the key function of the client"),
    allowOtherAudiences: readFlag("allowOtherAudiences", options.allowOtherAudiences),
  };
}

function mismatch(claim: string): TokenError {
  return new TokenError("client_mismatch", `${claim}: expected the request's client_id`, { claim });
}
