import { ConfigurationError } from "@signpost/core";
import { assertOptions, readChoice, readText } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { KeyFunction } from "../jwk/key-function.ts";
import { readRequestText, readTexts, requireFunction } from "../read-options.ts";
import type { TimeOptions, TimeRules } from "../token/claims.ts";
import { TIME_OPTIONS, timeRules } from "../token/claims.ts";
import type { OwnKeyFunction } from "./own-key-set.ts";

/** Options of every purpose. */
export interface OwnJwtCommon extends TimeOptions {
  /** The key function that `createOwnKeySet` returns. */
  readonly keyFunction: OwnKeyFunction;
  /** This OP's issuer, compared byte for byte. */
  readonly issuer: string;
}

/** RFC 9068: `typ` is `at+jwt`; `exp`, `iat`, `sub`, `client_id` and `jti` are required. */
export interface AccessTokenOptions extends OwnJwtCommon {
  /** An access token that is a JWT. */
  readonly purpose: "access_token";
  /** The resource server, or several names for it. One of them must be in `aud`. */
  readonly audience: string | readonly string[];
}

/** OpenID Connect Back-Channel Logout 1.0 section 2.6: `typ` is `logout+jwt`. */
export interface LogoutTokenOptions extends OwnJwtCommon {
  /** A logout token. */
  readonly purpose: "logout_token";
  /** The client that receives the token. */
  readonly audience: string;
}

/**
 * `id_token_hint` of RP-Initiated Logout 1.0 and of authorization requests: an ID token that this OP issued earlier. It may have
 * expired, and its key may be withdrawn.
 */
export interface IdTokenHintOptions extends OwnJwtCommon {
  /** An ID token that a client sends back. */
  readonly purpose: "id_token_hint";
  /** The client, if the request names one. Default: any client. */
  readonly audience?: string | undefined;
}

/** Options of `verifyOwnJwt`. They differ by purpose. */
export type VerifyOwnJwtOptions = AccessTokenOptions | LogoutTokenOptions | IdTokenHintOptions;

const OWN_JWT_OPTIONS: OptionNames<AccessTokenOptions> &
  OptionNames<LogoutTokenOptions> &
  OptionNames<IdTokenHintOptions> = { ...TIME_OPTIONS, keyFunction: true, issuer: true, purpose: true, audience: true };

/** The options, checked. */
export interface OwnJwtRules {
  readonly purpose: VerifyOwnJwtOptions["purpose"];
  /** The key function for the purpose. */
  readonly keyFunction: KeyFunction;
  readonly issuer: string;
  /** One of them must be in `aud`. If absent, any `aud` is accepted. */
  readonly audiences: readonly string[] | undefined;
  readonly readTime: () => TimeRules;
}

/** A missing option would equal a missing claim, so the token would be accepted. */
export function readOwnJwtOptions(options: VerifyOwnJwtOptions): OwnJwtRules {
  assertOptions("options", options, OWN_JWT_OPTIONS);
  const readTime = timeRules(options);
  readChoice("purpose", options.purpose, ["access_token", "logout_token", "id_token_hint"]);
  return {
    purpose: options.purpose,
    keyFunction: readKeyFunction(options),
    issuer: readText("issuer", options.issuer),
    audiences: readAudiences(options),
    readTime,
  };
}

function readKeyFunction({ purpose, keyFunction }: VerifyOwnJwtOptions): KeyFunction {
  const expected = "the key function that createOwnKeySet returns";
  const found = requireFunction("keyFunction", keyFunction, expected);
  return purpose === "id_token_hint" ? requireFunction("keyFunction", found.forIdTokenHint, expected) : found;
}

function readAudiences(options: VerifyOwnJwtOptions): readonly string[] | undefined {
  const { purpose, audience } = options;
  switch (purpose) {
    case "access_token": {
      const names = typeof audience === "string" ? [readText("audience", audience)] : readTexts("audience", audience);
      if (names.length === 0)
        throw new ConfigurationError("audience", "expected at least one audience, got an empty list");
      return names;
    }
    case "logout_token":
      return [readText("audience", audience)];
    case "id_token_hint": {
      const client = readRequestText("audience", audience);
      return client === undefined ? undefined : [client];
    }
  }
}
