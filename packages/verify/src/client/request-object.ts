import { ConfigurationError } from "@signpost/core";
import { TokenError } from "../errors.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import type { TimeOptions } from "../token/claims.ts";
import {
  invalid,
  optionalTime,
  requireLifetime,
  requireNotExpired,
  requireSoleAudience,
  requireStarted,
  timeRules,
} from "../token/claims.ts";
import { requireTyp } from "../token/compact.ts";
import type { RpSigningAlgorithm } from "./algorithms.ts";
import { parseClientJws, verifyClientSignature } from "./verify-client-jws.ts";

export interface RequestObjectOptions extends TimeOptions {
  /** This OP's issuer: the one accepted `aud`. */
  readonly issuer: string;
  /** The `client_id` parameter of the authorization request. */
  readonly clientId: string;
  /** The registered keys of that client. */
  readonly keyFunction: KeyFunction;
  /** The client's `request_object_signing_alg`, or several. Default `RP_SIGNING_ALGORITHMS`. */
  readonly algorithms?: readonly RpSigningAlgorithm[] | undefined;
  /** Requires `exp`, at most this long after `iat` and after now. Seconds. Default: `exp` is optional and unbounded. */
  readonly maxLifetimeSeconds?: number | undefined;
}

export interface VerifiedRequestObject {
  /** The authorization request parameters, and the claims of the JWT. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * A signed request object (RFC 9101, JAR): made by the client of the request for this OP, of its own kind, and not a
 * carrier of another one.
 *
 * Rejects with `TokenError`; with `KeySetError` where the client's keys give none.
 *
 * ```ts
 * import { createStaticKeySet, verifyRequestObject } from "@signpost/verify";
 *
 * export async function parametersOf(request: string, client: { id: string; jwks: { keys: unknown[] } }) {
 *   const { claims } = await verifyRequestObject(request, {
 *     issuer: "https://op.example",
 *     clientId: client.id,
 *     keyFunction: createStaticKeySet(client.jwks),
 *   });
 *   return claims;
 * }
 * ```
 */
export async function verifyRequestObject(jwt: string, options: RequestObjectOptions): Promise<VerifiedRequestObject> {
  const readTime = timeRules(options);
  const { clientId, maxLifetimeSeconds } = options;
  if (typeof clientId !== "string" || clientId === "")
    throw new ConfigurationError("clientId", "expected a non-empty string");
  const jws = parseClientJws(jwt, options.algorithms);
  const { claims } = jws;
  requireTyp(jws.header, [undefined, "oauth-authz-req+jwt"]);
  await verifyClientSignature(jwt, jws, options.keyFunction);

  const rules = readTime();
  if (claims["client_id"] !== clientId) throw mismatch("client_id");
  if (claims["iss"] !== undefined && claims["iss"] !== clientId) throw mismatch("iss");
  // RFC 9101 section 10.8: an object with sub = client_id could be used as a client assertion.
  if (claims["sub"] === clientId) throw invalid("sub", "expected another value than the client_id");
  for (const claim of ["request", "request_uri"]) {
    if (claims[claim] !== undefined) throw invalid(claim, "expected none inside a request object");
  }
  requireSoleAudience(claims, [options.issuer]);
  requireStarted(claims, rules);
  const exp = optionalTime(claims, "exp");
  if (exp !== undefined) requireNotExpired(exp, rules);
  if (maxLifetimeSeconds !== undefined) {
    if (exp === undefined) throw invalid("exp", "expected a number of seconds");
    requireLifetime(claims, exp, maxLifetimeSeconds, rules);
  }
  return { claims };
}

function mismatch(claim: string): TokenError {
  return new TokenError("client_mismatch", `${claim}: expected the request's client_id`, { claim });
}
