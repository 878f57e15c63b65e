import { ConfigurationError } from "../errors.ts";
import { isSchedule } from "../keyset/source.ts";
import type { KeySetSource } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { type JsonObject, toJsonObject } from "./json.ts";
import { SIGN_JWS_OPTIONS, signPayload, type SignJwsOptions } from "./jws.ts";

/** Claims of a JWT (RFC 7519 section 4): the registered ones by type, any other as JSON. */
export interface JwtClaims {
  /** Issuer. */
  readonly iss?: string;
  /** Subject. */
  readonly sub?: string;
  /** Audience, one or several. */
  readonly aud?: string | readonly string[];
  /** Expiration time. Seconds since the epoch. */
  readonly exp?: number;
  /** Not before. Seconds since the epoch. */
  readonly nbf?: number;
  /** Issued at. Seconds since the epoch. */
  readonly iat?: number;
  /** Id of the token. */
  readonly jti?: string;
  /** Any other claim, as JSON. */
  readonly [claim: string]: unknown;
}

/** Options of `signJwt`. */
export interface SignJwtOptions extends SignJwsOptions {
  /**
   * Seconds since the epoch. Default: now, unless the claims have an `iat` of their own. `false` adds none.
   */
  readonly iat?: false | number | undefined;
}

const SIGN_JWT_OPTIONS: OptionNames<SignJwtOptions> = { ...SIGN_JWS_OPTIONS, iat: true };

const NUMERIC_DATES = ["exp", "nbf", "iat"];

/**
 * A signed JWT (RFC 7519) by the active key. The claims are the caller's; only `iat` is filled in.
 *
 * A schedule withdraws a key `maxTokenLifetimeSeconds` after its last signature. So an `exp` beyond that, from now and
 * with the clock skew, is refused. A token without `exp` passes.
 *
 * @throws ConfigurationError for claims that JSON would drop or change (undefined members, non-finite numbers,
 * instances of classes), times that are no numbers, and an `exp` that a schedule cannot keep; SignerError when no good signature was made.
 * @example
 * ```ts
 * import { createKeySet, signJwt } from "@signpost/core";
 * import { openLocalSigner } from "@signpost/local";
 *
 * const keys = createKeySet([{ signer: await openLocalSigner() }]);
 * const now = Math.floor(Date.now() / 1000);
 * const idToken = await signJwt(keys, { iss: "https://op.example", sub: "248289", aud: "rp", exp: now + 300 });
 * const accessToken = await signJwt(
 *   keys,
 *   { iss: "https://op.example", sub: "248289", aud: "api", client_id: "rp", jti: "1", exp: now + 300 },
 *   { typ: "at+jwt" },
 * );
 * ```
 */
export async function signJwt(keys: KeySetSource, claims: JwtClaims, options: SignJwtOptions = {}): Promise<string> {
  assertOptions("options", options, SIGN_JWT_OPTIONS);
  const members = withIssuedAt(toJsonObject("claims", claims), options.iat);
  refuseLateExpiry(keys, members["exp"]);
  return signPayload(keys, JSON.stringify(members), options);
}

/** The key would be withdrawn before the token expires, and RPs would refuse it. */
function refuseLateExpiry(keys: KeySetSource, exp: unknown): void {
  if (typeof exp !== "number" || !isSchedule(keys)) return;
  const latest = keys.latestExpiry();
  if (exp <= latest) return;
  throw new ConfigurationError(
    "claims.exp",
    `expected at most ${latest}, which is maxTokenLifetimeSeconds and the clock skew from now, got ${exp}`,
  );
}

function withIssuedAt(claims: JsonObject, iat: unknown): JsonObject {
  for (const name of NUMERIC_DATES) {
    if (Object.hasOwn(claims, name)) numericDate(`claims.${name}`, claims[name]);
  }
  if (iat === false) return claims;
  if (iat === undefined)
    return Object.hasOwn(claims, "iat") ? claims : { ...claims, iat: Math.floor(Date.now() / 1000) };
  if (Object.hasOwn(claims, "iat")) throw new ConfigurationError("iat", "not allowed together with claims.iat");
  return { ...claims, iat: numericDate("iat", iat) };
}

function numericDate(argument: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new ConfigurationError(argument, "expected a finite number of seconds since the epoch");
}
