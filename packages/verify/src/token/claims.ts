import { ConfigurationError } from "@signpost/core";
import { readCallback, readNumber } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { TokenError } from "../errors.ts";
import type { JsonObject } from "../jwk/json.ts";

export interface TimeRules {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** For `iat` and `nbf`, if the other side's clock is ahead. */
  readonly startToleranceSeconds: number;
  /** For `exp`, if the other side's clock is behind. */
  readonly endToleranceSeconds: number;
}

/** Options of every verification. */
export interface TimeOptions {
  /**
   * How much the other side's clock may differ. Seconds, 0 to 60, because an `iat` or `nbf` further ahead must be refused (FAPI 2.0
   * section 5.3.2.1). Default: 10 for `iat` and `nbf`, as the same section requires, and 5 for `exp`.
   */
  readonly clockToleranceSeconds?: number | undefined;
  /** Returns milliseconds since the epoch. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const START_TOLERANCE_SECONDS = 10;
const END_TOLERANCE_SECONDS = 5;
const MAX_TOLERANCE_SECONDS = 60;

export const TIME_OPTIONS: OptionNames<TimeOptions> = { clockToleranceSeconds: true, now: true };

/** Checks the options now, and reads the clock later, because fetching a key takes time. */
export function timeRules({ clockToleranceSeconds, now = Date.now }: TimeOptions): () => TimeRules {
  const given =
    clockToleranceSeconds === undefined
      ? undefined
      : readNumber("clockToleranceSeconds", clockToleranceSeconds, 0, MAX_TOLERANCE_SECONDS);
  const startToleranceSeconds = given ?? START_TOLERANCE_SECONDS;
  const endToleranceSeconds = given ?? END_TOLERANCE_SECONDS;
  readCallback("now", now);
  return () => {
    const nowMs = now();
    // Nothing is later than NaN, so no token would ever expire.
    if (!Number.isFinite(nowMs))
      throw new ConfigurationError(
        "now",
        `expected a function that returns milliseconds, got the result ${String(nowMs)}`,
      );
    return { nowMs, startToleranceSeconds, endToleranceSeconds };
  };
}

export function requireString(claims: JsonObject, claim: string): string {
  const value = claims[claim];
  if (typeof value !== "string" || value === "") throw invalid(claim, "expected a non-empty string");
  return value;
}

/** A NumericDate (RFC 7519 section 2), or `undefined`. */
export function optionalTime(claims: JsonObject, claim: string): number | undefined {
  const value = claims[claim];
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value)) throw invalid(claim, "expected a number of seconds");
  return value;
}

export function requireTime(claims: JsonObject, claim: string): number {
  const value = optionalTime(claims, claim);
  if (value === undefined) throw invalid(claim, "expected a number of seconds");
  return value;
}

export function requireIssuer(claims: JsonObject, issuer: string): void {
  if (claims["iss"] !== issuer)
    throw new TokenError("invalid_issuer", "iss: expected the given issuer", { claim: "iss" });
}

/** `aud` as a list (RFC 7519 section 4.1.3). */
export function audiences(claims: JsonObject): readonly string[] {
  const { aud } = claims;
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (list.length === 0 || !list.every((value) => typeof value === "string")) {
    throw new TokenError("invalid_audience", "aud: expected a string or an array of strings", { claim: "aud" });
  }
  return list;
}

/** Only this issuer, as text or as the only member of a list. A token for several audiences could be used at each of them. */
export function requireSoleAudience(claims: JsonObject, issuer: string): void {
  const [only, ...more] = audiences(claims);
  if (only !== issuer || more.length > 0) throw wrongAudience("expected only the given issuer");
}

/** This issuer, and any others. */
export function requireAmongAudiences(claims: JsonObject, issuer: string): void {
  if (!audiences(claims).includes(issuer))
    throw wrongAudience("expected a value or list that contains the given issuer");
}

/** One or more values, all of them accepted. */
export function requireAcceptedAudiences(claims: JsonObject, accepted: readonly string[]): void {
  if (!audiences(claims).every((audience) => accepted.includes(audience))) {
    throw wrongAudience("expected only the given issuer or values from otherAudiences");
  }
}

function wrongAudience(expected: string): TokenError {
  return new TokenError("invalid_audience", `aud: ${expected}`, { claim: "aud" });
}

export function requireNotExpired(exp: number, { nowMs, endToleranceSeconds }: TimeRules): void {
  if (nowMs >= (exp + endToleranceSeconds) * 1000) {
    throw new TokenError("expired", "exp: the token has expired", { claim: "exp" });
  }
}

/** `nbf` and `iat`, if present, must not be in the future. */
export function requireStarted(claims: JsonObject, { nowMs, startToleranceSeconds }: TimeRules): void {
  for (const claim of ["nbf", "iat"]) {
    const time = optionalTime(claims, claim);
    if (time !== undefined && nowMs < (time - startToleranceSeconds) * 1000) {
      throw new TokenError("not_yet_valid", `${claim}: the token is not valid yet`, { claim });
    }
  }
}

/** Counts from now, and from the present claims of `starts`. A clock that is ahead also writes a later `exp`. */
export function requireLifetime(
  claims: JsonObject,
  exp: number,
  { maxSeconds, starts }: { readonly maxSeconds: number; readonly starts: readonly string[] },
  { nowMs, startToleranceSeconds }: TimeRules,
): void {
  const times = starts.map((claim) => optionalTime(claims, claim)).filter((time) => time !== undefined);
  const latest = Math.min(nowMs / 1000, ...times) + maxSeconds + startToleranceSeconds;
  if (exp > latest)
    throw new TokenError("lifetime_too_long", `exp: expected a lifetime of at most ${maxSeconds} seconds`, {
      claim: "exp",
    });
}

export function invalid(claim: string, expected: string): TokenError {
  return new TokenError("invalid_claim", `${claim}: ${expected}`, { claim });
}
