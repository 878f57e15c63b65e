import { ConfigurationError, SignerError } from "../errors.ts";
import { isSchedule } from "../keyset/source.ts";
import type { KeySetSource } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { given } from "../given.ts";
import { type JsonObject, toJsonObject } from "./json.ts";
import { encodePayload, SIGN_JWS_OPTIONS, signPayload, type SignJwsOptions } from "./jws.ts";

/** Claims of a JWT (RFC 7519 section 4): the registered claims with their types, and any other claim as JSON. */
export interface JwtClaims {
  /** Issuer. */
  readonly iss?: string;
  /** Subject. */
  readonly sub?: string;
  /** Audience, one or several. */
  readonly aud?: string | readonly string[];
  /** Expiration time. Seconds since 1970. */
  readonly exp?: number;
  /** Not before. Seconds since 1970. */
  readonly nbf?: number;
  /** Issued at. Seconds since 1970. */
  readonly iat?: number;
  /** Id of the token. */
  readonly jti?: string;
  /** Any other claim, as JSON. */
  readonly [claim: string]: unknown;
}

/** Options of `signJwt`. */
export interface SignJwtOptions extends SignJwsOptions {
  /**
   * The claim `iat`, in seconds since 1970. Default: the `iat` in the claims, or now. `false` adds none.
   */
  readonly iat?: false | number | undefined;
}

const SIGN_JWT_OPTIONS: OptionNames<SignJwtOptions> = { ...SIGN_JWS_OPTIONS, iat: true };

const NUMERIC_DATES = ["exp", "nbf", "iat"];

/**
 * Signs a JWT (RFC 7519) with the active key. The claims are used as they are. Only `iat` is added.
 *
 * A schedule withdraws a key `maxTokenLifetimeSeconds` after its last signature. So an `exp` later than now plus
 * `maxTokenLifetimeSeconds` plus the clock skew is refused, unless the token shows its chain (`certificates: "x5c"`). A token
 * without `exp` is allowed.
 *
 * @throws ConfigurationError for claims that JSON would drop or change (undefined members, non-finite numbers, instances of
 * classes), times that are not numbers, and an `exp` that is too late for the schedule; SignerError if no valid signature
 * was made.
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
export function signJwt(keys: KeySetSource, claims: JwtClaims, options: SignJwtOptions = {}): Promise<string> {
  return signPayload(keys, options, () => {
    assertOptions("options", options, SIGN_JWT_OPTIONS);
    const members = withIssuedAt(toJsonObject("claims", claims), options.iat);
    // With the chain in the token, RPs do not look for the key in the key set.
    if (options.certificates !== "x5c") refuseLateExpiry(keys, members["exp"]);
    return encodePayload(JSON.stringify(members));
  });
}

/**
 * Otherwise the key would be withdrawn before the token expires, and RPs would refuse the token. For a key that may have been
 * replaced meanwhile, name it: a new token of the active key may expire then.
 */
export function refuseLateExpiry(keys: KeySetSource, exp: unknown, keyId?: string): void {
  if (typeof exp !== "number" || !isSchedule(keys)) return;
  const latest = keys.latestExpiry();
  if (exp > latest) {
    throw new ConfigurationError(
      "claims.exp",
      `expected at most ${latest}, which is now plus maxTokenLifetimeSeconds plus the clock skew, got ${exp}`,
    );
  }
  if (keyId === undefined || exp <= keys.latestExpiry(keyId)) return;
  const key = `the key with kid ${JSON.stringify(keyId)}`;
  throw new SignerError("unavailable", `${key} was replaced, and will be withdrawn before the token expires`);
}

/** RFC 7519 section 4.1: verifiers refuse a time that is text. */
export function requireNumericDates(claims: Readonly<Record<string, unknown>>): void {
  for (const name of NUMERIC_DATES) {
    if (Object.hasOwn(claims, name)) numericDate(`claims.${name}`, claims[name]);
  }
}

function withIssuedAt(claims: JsonObject, iat: unknown): JsonObject {
  requireNumericDates(claims);
  if (iat === false) return claims;
  if (iat === undefined)
    return Object.hasOwn(claims, "iat") ? claims : { ...claims, iat: Math.floor(Date.now() / 1000) };
  if (Object.hasOwn(claims, "iat")) throw new ConfigurationError("iat", "not allowed together with claims.iat");
  return { ...claims, iat: numericDate("iat", iat) };
}

function numericDate(argument: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new ConfigurationError(argument, `expected a finite number of seconds since 1970, got ${given(value)}`);
}
