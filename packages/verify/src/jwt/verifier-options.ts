import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, readChoice, readNumber, readText } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { KeyFunction } from "../jwk/key-function.ts";
import { readTexts, requireFunction } from "../read-options.ts";
import type { TimeOptions, TimeRules } from "../token/claims.ts";
import { TIME_OPTIONS, timeRules } from "../token/claims.ts";
import type { JwtAlgorithm } from "../token/algorithms.ts";
import { isJwtAlgorithm, JWT_ALGORITHMS } from "../token/algorithms.ts";

/** Options for every type of token. */
export interface JwtVerifierCommon extends TimeOptions {
  /** The issuer, as in its discovery document. Compared byte for byte. */
  readonly issuer: string;
  /** The issuer's keys: a key function, such as `discoverKeySet` or `createRemoteKeySet` returns. */
  readonly keys: KeyFunction;
  /** At least one accepted algorithm. A token with another `alg` is refused before its key is looked up. Default `["ES256"]`. */
  readonly algorithms?: readonly JwtAlgorithm[] | undefined;
  /** Maximum time since `iat`, even if the token expires later. Seconds, 1 to 31,622,400. Default none. */
  readonly maxTokenAgeSeconds?: number | undefined;
}

/** OpenID Connect Core 1.0 section 3.1.3.7. `exp`, `iat` and `sub` are required. */
export interface IdTokenVerifierOptions extends JwtVerifierCommon {
  /** An ID token. Its `typ` is `JWT` or absent. */
  readonly type: "id_token";
  /** This client's id, or several ids of one application. One of them must be in `aud`. */
  readonly audience: string | readonly string[];
  /**
   * Other audiences that you trust. A token for several audiences is refused unless all of them are in `audience` or here, and it
   * must have an `azp`. `"any"` trusts all. Default none.
   */
  readonly otherAudiences?: readonly string[] | "any" | undefined;
  /**
   * Other clients that may be the `azp`, such as an Android app whose tokens are for your server. Default none: an `azp`, if present,
   * must be in `audience`.
   */
  readonly authorizedParties?: readonly string[] | undefined;
}

/** RFC 9068 section 4. `typ` is `at+jwt`; `exp`, `iat`, `sub`, `client_id` and `jti` are required. */
export interface AccessTokenVerifierOptions extends JwtVerifierCommon {
  /** An access token that is a JWT. */
  readonly type: "access_token";
  /** This resource server, or several names for it. One of them must be in `aud`. */
  readonly audience: string | readonly string[];
}

const VERIFIER_OPTIONS: OptionNames<IdTokenVerifierOptions> & OptionNames<AccessTokenVerifierOptions> = {
  ...TIME_OPTIONS,
  issuer: true,
  keys: true,
  algorithms: true,
  maxTokenAgeSeconds: true,
  type: true,
  audience: true,
  otherAudiences: true,
  authorizedParties: true,
};

/** The options, checked. */
export interface VerifierRules {
  readonly type: "id_token" | "access_token";
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Accepted together with one of `audiences`. */
  readonly otherAudiences: readonly string[] | "any";
  /** Every accepted `azp`. */
  readonly authorizedParties: readonly string[];
  readonly algorithms: readonly JwtAlgorithm[];
  readonly maxTokenAgeSeconds: number | undefined;
  readonly readTime: () => TimeRules;
}

const YEAR_SECONDS = 366 * 86_400;

export function readVerifierOptions(options: IdTokenVerifierOptions | AccessTokenVerifierOptions): VerifierRules {
  assertOptions("options", options, VERIFIER_OPTIONS);
  readChoice("type", options.type, ["id_token", "access_token"]);
  requireFunction("keys", options.keys, "a key function, such as createRemoteKeySet returns");
  const { maxTokenAgeSeconds } = options;
  const audiences = readAudiences(options.audience);
  return {
    type: options.type,
    issuer: readText("issuer", options.issuer),
    audiences,
    ...readIdTokenOptions(options, audiences),
    algorithms: readAlgorithms(options.algorithms),
    maxTokenAgeSeconds:
      maxTokenAgeSeconds === undefined
        ? undefined
        : readNumber("maxTokenAgeSeconds", maxTokenAgeSeconds, 1, YEAR_SECONDS),
    readTime: timeRules(options),
  };
}

function readIdTokenOptions(
  options: IdTokenVerifierOptions | AccessTokenVerifierOptions,
  audiences: readonly string[],
): Pick<VerifierRules, "otherAudiences" | "authorizedParties"> {
  if (options.type === "access_token") {
    for (const name of ["otherAudiences", "authorizedParties"]) {
      if ((options as unknown as Record<string, unknown>)[name] !== undefined)
        throw new ConfigurationError(name, 'expected no value with the type "access_token"');
    }
    return { otherAudiences: "any", authorizedParties: [] };
  }
  const { otherAudiences = [], authorizedParties = [] } = options;
  return {
    otherAudiences:
      otherAudiences === "any" ? otherAudiences : [...audiences, ...readTexts("otherAudiences", otherAudiences)],
    authorizedParties: [...audiences, ...readTexts("authorizedParties", authorizedParties)],
  };
}

function readAudiences(audience: string | readonly string[]): readonly string[] {
  const names = typeof audience === "string" ? [readText("audience", audience)] : readTexts("audience", audience);
  if (names.length > 0) return names;
  throw new ConfigurationError("audience", "expected at least one audience, got an empty list");
}

function readAlgorithms(value: unknown): readonly JwtAlgorithm[] {
  if (value === undefined) return ["ES256"];
  if (Array.isArray(value) && value.length > 0 && Array.from(value).every(isJwtAlgorithm)) return [...value];
  const what = Array.isArray(value) ? "a list with another value, or an empty one" : given(value);
  throw new ConfigurationError(
    "algorithms",
    `expected a list of at least one of ${JWT_ALGORITHMS.join(", ")}, got ${what}`,
  );
}
