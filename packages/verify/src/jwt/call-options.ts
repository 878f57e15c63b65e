import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, readNumber, readText } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { readSignal, readTexts } from "../read-options.ts";

/**
 * What one ID token must match. Each member is checked if it is there, so `undefined` is refused: a nonce that a session has lost
 * must not turn off its check. Leave out the members that do not apply.
 */
export interface VerifyIdTokenOptions {
  /** The `nonce` of the authentication request. The claim must be present and equal. Default: not checked. */
  readonly nonce?: string;
  /**
   * The `max_age` of the authentication request: `auth_time` must be present and at most that long ago. Seconds, 0 to 31,622,400.
   * Default: not checked.
   */
  readonly maxAgeSeconds?: number;
  /**
   * The access token that came with the ID token from the authorization endpoint. `at_hash` must be present and match. Many OPs leave
   * it out at the token endpoint, where it is optional. Default: not checked.
   */
  readonly accessToken?: string;
  /** The code that came with the ID token from the authorization endpoint. `c_hash` must be present and match. Default: not checked. */
  readonly code?: string;
  /** Releases this caller when it aborts: `KeySetError` `aborted`. A request for keys continues for other callers. Default none. */
  readonly signal?: AbortSignal | undefined;
}

/** What one access token must allow. */
export interface VerifyAccessTokenOptions {
  /** Scopes that must all be granted, without spaces. `undefined` is refused. Default: not checked. */
  readonly scopes?: readonly string[];
  /** Releases this caller when it aborts: `KeySetError` `aborted`. A request for keys continues for other callers. Default none. */
  readonly signal?: AbortSignal | undefined;
}

const ID_TOKEN_OPTIONS: OptionNames<VerifyIdTokenOptions> = {
  nonce: true,
  maxAgeSeconds: true,
  accessToken: true,
  code: true,
  signal: true,
};

const ACCESS_TOKEN_OPTIONS: OptionNames<VerifyAccessTokenOptions> = { scopes: true, signal: true };

const YEAR_SECONDS = 366 * 86_400;

/** The options of one call, checked. Only members that were given are there. */
export type CallRules = Pick<VerifyIdTokenOptions, "nonce" | "maxAgeSeconds" | "accessToken" | "code"> &
  Pick<VerifyAccessTokenOptions, "scopes"> & { readonly signal: AbortSignal | undefined };

const NO_RULES: CallRules = { signal: undefined };

export function readIdTokenCall(options: VerifyIdTokenOptions | undefined): CallRules {
  if (options === undefined) return NO_RULES;
  assertOptions("options", options, ID_TOKEN_OPTIONS);
  return {
    ...("nonce" in options ? { nonce: readText("nonce", options.nonce) } : {}),
    ...("maxAgeSeconds" in options
      ? { maxAgeSeconds: readNumber("maxAgeSeconds", options.maxAgeSeconds, 0, YEAR_SECONDS) }
      : {}),
    ...("accessToken" in options ? { accessToken: readText("accessToken", options.accessToken) } : {}),
    ...("code" in options ? { code: readText("code", options.code) } : {}),
    signal: readSignal("signal", options.signal),
  };
}

export function readAccessTokenCall(options: VerifyAccessTokenOptions | undefined): CallRules {
  if (options === undefined) return NO_RULES;
  assertOptions("options", options, ACCESS_TOKEN_OPTIONS);
  return {
    ...("scopes" in options ? { scopes: readScopes(options.scopes) } : {}),
    signal: readSignal("signal", options.signal),
  };
}

/** RFC 6749 section 3.3: visible characters without quotes and backslashes. */
function readScopes(value: unknown): readonly string[] {
  const scopes = readTexts("scopes", value);
  if (scopes.length > 0 && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))) return scopes;
  const what = scopes.length === 0 ? "an empty list" : given(scopes);
  throw new ConfigurationError("scopes", `expected at least one scope, each without spaces, got ${what}`);
}
