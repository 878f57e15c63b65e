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
   * Accepts other values of `aud` next to the issuer (OpenID Connect Core 1.0 section 6.1: "be or include"), which certification for
   * FAPI 2.0 Message Signing asks for. Such a request object may be meant for another OP as well. Default false: `aud` is the issuer
   * alone.
   */
  readonly allowOtherAudiences?: boolean | undefined;
}

const REQUEST_OBJECT_OPTIONS: OptionNames<RequestObjectOptions> = {
  ...CLIENT_JWS_OPTIONS,
  clientId: true,
  keyFunction: true,
  allowOtherAudiences: true,
};

/** A request object that its client made for this OP. */
export interface VerifiedRequestObject {
  /** The authorization request parameters, and the claims of the JWT. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * A signed request object (RFC 9101, JAR): made by the client of the request for this OP, of its own kind, and not a
 * carrier of another one.
 *
 * Rejects with `TokenError`: every code but `unknown_client`, `invalid_issuer`, `replayed` and `replay_store_unavailable`; with
 * `KeySetError` where the client's keys give none; and with `ConfigurationError` for an option that is missing, unknown or out
 * of bounds.
 *
 * @example
 * ```ts
 * import { createStaticKeySet, verifyRequestObject } from "@signpost/verify";
 *
 * export async function parametersOf(request: string, client: { id: string; jwks: { keys: unknown[] } }) {
 *   const { claims } = await verifyRequestObject(request, {
 *     issuer: "https://op.example",
 *     clientId: client.id,
 *     // A client with one key may leave out its `kid`.
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
  // A library that signs any JWT writes `JWT`, and requiring more breaks clients (RFC 9101 section 10.8): the claims decide.
  requireClientTyp(jws, "oauth-authz-req+jwt", rules);
  await verifyClientSignature(jwt, jws, rules.keyFunction);

  const time = rules.readTime();
  if (claims["client_id"] !== clientId) throw mismatch("client_id");
  if (claims["iss"] !== undefined && claims["iss"] !== clientId) throw mismatch("iss");
  // RFC 9101 section 10.8: an object with sub = client_id could be used as a client assertion.
  if (claims["sub"] === clientId) throw invalid("sub", "expected another value than the client_id");
  for (const claim of ["request", "request_uri"]) {
    if (claims[claim] !== undefined) throw invalid(claim, "expected none inside a request object");
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
