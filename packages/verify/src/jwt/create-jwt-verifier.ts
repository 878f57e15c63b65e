import { TokenError } from "../errors.ts";
import { abortable } from "../http/abortable.ts";
import { parseCompactJws, requireTyp } from "../token/compact.ts";
import type { CompactJws } from "../token/compact.ts";
import { requireIssuer, requireNotExpired, requireStarted, requireTime } from "../token/claims.ts";
import type { JwtAlgorithm } from "../token/algorithms.ts";
import { isJwtAlgorithm, SCHEMES } from "../token/algorithms.ts";
import type { CallRules, VerifyAccessTokenOptions, VerifyIdTokenOptions } from "./call-options.ts";
import { readAccessTokenCall, readIdTokenCall } from "./call-options.ts";
import { checkAccessToken } from "./check-access-token.ts";
import { checkIdToken } from "./check-id-token.ts";
import { requireNotOlder } from "./claim-checks.ts";
import type { AccessTokenClaims, IdTokenClaims, JwtHeader } from "./claims.ts";
import type { KeyHeader } from "./find-node-key.ts";
import { findNodeKey } from "./find-node-key.ts";
import { createKnownHeaders } from "./known-headers.ts";
import type { AccessTokenVerifierOptions, IdTokenVerifierOptions, VerifierRules } from "./verifier-options.ts";
import { readVerifierOptions } from "./verifier-options.ts";
import { createVerifyByNode } from "./verify-by-node.ts";

/** A verified JWT. */
export interface VerifiedJwt<Claims> {
  /** The protected header. Tokens may share it, so it may be frozen. */
  readonly header: JwtHeader;
  /** All claims, in a new object for each call. */
  readonly claims: Claims;
}

/** Verifies ID tokens of one issuer. */
export interface IdTokenVerifier {
  /**
   * Verifies one ID token. Rejects with `TokenError`: `malformed_jwt`, `alg_not_allowed`, `unsupported_header`, `invalid_typ`,
   * `bad_signature`, `invalid_issuer`, `invalid_audience`, `expired`, `not_yet_valid`, `invalid_claim`; with the errors of the key
   * function; and with `ConfigurationError` for an option that is unknown or out of bounds.
   */
  verify(token: string, options?: VerifyIdTokenOptions): Promise<VerifiedJwt<IdTokenClaims>>;
}

/** Verifies access tokens of one issuer. */
export interface AccessTokenVerifier {
  /**
   * Verifies one access token. Rejects with the same errors as for an ID token, and with `TokenError` `insufficient_scope`, for which
   * a resource server answers with status 403.
   */
  verify(token: string, options?: VerifyAccessTokenOptions): Promise<VerifiedJwt<AccessTokenClaims>>;
}

/**
 * A verifier of one issuer's ID tokens, for RPs. It checks the header, the signature and the claims of a token, as OpenID Connect Core
 * 1.0 section 3.1.3.7 requires. Keys come from any key function, and signatures are verified by node:crypto, without jose. Create one
 * for each issuer, and keep it.
 *
 * @throws ConfigurationError for an option that is missing, unknown or out of bounds.
 * @example
 * ```ts
 * import { createJwtVerifier, discoverKeySet } from "@signpost/verify";
 *
 * const issuer = "https://op.example";
 * const verifier = createJwtVerifier({ type: "id_token", issuer, audience: "client-1", keys: discoverKeySet(issuer) });
 *
 * export async function userOf(idToken: string, nonce: string): Promise<string> {
 *   const { claims } = await verifier.verify(idToken, { nonce });
 *   return claims.sub;
 * }
 * ```
 */
export function createJwtVerifier(options: IdTokenVerifierOptions): IdTokenVerifier;
/**
 * The same for JWT access tokens, for resource servers, as RFC 9068 section 4 requires.
 *
 * @throws ConfigurationError for an option that is missing, unknown or out of bounds.
 * @example
 * ```ts
 * import { createJwtVerifier, discoverKeySet } from "@signpost/verify";
 *
 * const issuer = "https://op.example";
 * const audience = "https://api.example";
 * const verifier = createJwtVerifier({ type: "access_token", issuer, audience, keys: discoverKeySet(issuer) });
 *
 * export async function clientOf(accessToken: string): Promise<string> {
 *   const { claims } = await verifier.verify(accessToken, { scopes: ["orders:read"] });
 *   return claims.client_id;
 * }
 * ```
 */
export function createJwtVerifier(options: AccessTokenVerifierOptions): AccessTokenVerifier;
export function createJwtVerifier(
  options: IdTokenVerifierOptions | AccessTokenVerifierOptions,
): IdTokenVerifier | AccessTokenVerifier {
  const rules = readVerifierOptions(options);
  const findKey = findNodeKey(options.keys);
  const verifyByNode = createVerifyByNode();
  const headers = createKnownHeaders();
  const readCall = rules.type === "id_token" ? readIdTokenCall : readAccessTokenCall;
  let inFlight = 0;

  async function verify(
    token: string,
    callOptions?: VerifyIdTokenOptions & VerifyAccessTokenOptions,
  ): Promise<VerifiedJwt<IdTokenClaims & AccessTokenClaims>> {
    inFlight += 1;
    try {
      const call = readCall(callOptions);
      const jws = parseCompactJws(token, headers.get);
      const keyHeader = readHeader(jws, rules);
      const key = await findKey(keyHeader, call.signal);
      const scheme = SCHEMES[keyHeader.alg];
      const verified = verifyByNode(token, jws, key.keyObject(), scheme, inFlight);
      if (verified !== undefined) await abortable(verified, call.signal);
      headers.add(token, jws);
      checkClaims(jws, rules, call, keyHeader.alg);
      // The claims have the type that their checks prove.
      return { header: jws.header as JwtHeader, claims: jws.claims as IdTokenClaims & AccessTokenClaims };
    } finally {
      inFlight -= 1;
    }
  }

  return { verify };
}

/** Everything that is refused before a key is looked up. */
function readHeader({ header, alg }: CompactJws, { type, algorithms }: VerifierRules): KeyHeader {
  if (!isJwtAlgorithm(alg) || !algorithms.includes(alg))
    throw new TokenError("alg_not_allowed", `alg: expected one of ${algorithms.join(", ")}`, { claim: "alg" });
  requireTyp(header, TYPES[type]);
  const { kid } = header;
  if (kid === undefined) return { alg };
  if (typeof kid === "string") return { alg, kid };
  throw new TokenError("malformed_jwt", "kid: expected a string", { claim: "kid" });
}

const TYPES = { id_token: [undefined, "jwt"], access_token: ["at+jwt"] } as const;

function checkClaims({ claims }: CompactJws, rules: VerifierRules, call: CallRules, alg: JwtAlgorithm): void {
  requireIssuer(claims, rules.issuer);
  // The clock is read now, because fetching a key takes time.
  const time = rules.readTime();
  const exp = requireTime(claims, "exp");
  const iat = requireTime(claims, "iat");
  requireNotExpired(exp, time);
  requireStarted(claims, time);
  if (rules.maxTokenAgeSeconds !== undefined)
    requireNotOlder("iat", iat, { maxSeconds: rules.maxTokenAgeSeconds, what: "a token issued" }, time);
  if (rules.type === "id_token") checkIdToken(claims, rules, call, { scheme: SCHEMES[alg], time });
  else checkAccessToken(claims, rules, call);
}
