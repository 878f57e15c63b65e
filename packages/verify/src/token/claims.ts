import { ConfigurationError } from "@signpost/core";
import { readCallback, readNumber } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { TokenError } from "../errors.ts";
import type { JsonObject } from "../jwk/json.ts";

export interface TimeRules {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** For `iat` and `nbf`: the other side's clock is ahead. */
  readonly startToleranceSeconds: number;
  /** For `exp`: the other side's clock is behind. */
  readonly endToleranceSeconds: number;
}

/** The options that every verification shares. */
export interface TimeOptions {
  /**
   * How far the other side's clock may be off. Seconds, 0 to 60: an `iat` or `nbf` that is further ahead must be refused (FAPI
   * 2.0 section 5.3.2.1). Default: 10 for `iat` and `nbf`, which the same section asks for, and 5 for `exp`.
   */
  readonly clockToleranceSeconds?: number | undefined;
  /** Gives milliseconds since the epoch. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const START_TOLERANCE_SECONDS = 10;
const END_TOLERANCE_SECONDS = 5;
const MAX_TOLERANCE_SECONDS = 60;

export const TIME_OPTIONS: OptionNames<TimeOptions> = { clockToleranceSeconds: true, now: true };

/** Judges the options at once, and reads the clock when it is asked: fetching a key takes time. */
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
    // Nothing would be later than NaN, so that no token had expired.
    if (!Number.isFinite(nowMs)) throw new ConfigurationError("now", "expected a function that gives milliseconds");
    return { nowMs, startToleranceSeconds, endToleranceSeconds };
  };
}

export function requireString(claims: JsonObject, claim: string): string {
  const value = claims[claim];
  if (typeof value !== "string" || value === "") throw invalid(claim, "expected a non-empty string");
  return value;
}

/** NumericDate (RFC 7519 section 2), where there is one. */
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
  if (claims["iss"] !== issuer) throw new TokenError("invalid_issuer", "iss: expected this issuer", { claim: "iss" });
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

/** This issuer alone, as text or as the one member of a list: a token for several audiences could be used at each of them. */
export function requireSoleAudience(claims: JsonObject, issuer: string): void {
  const [only, ...more] = audiences(claims);
  if (only !== issuer || more.length > 0) throw wrongAudience("expected this issuer alone");
}

/** This issuer, and whatever else. */
export function requireAmongAudiences(claims: JsonObject, issuer: string): void {
  if (!audiences(claims).includes(issuer)) throw wrongAudience("expected this issuer among them");
}

/** One or more values, and all of them accepted. */
export function requireAcceptedAudiences(claims: JsonObject, accepted: readonly string[]): void {
  if (!audiences(claims).every((audience) => accepted.includes(audience))) {
    throw wrongAudience("expected this issuer or otherAudiences, and nothing else");
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

/** `nbf` and `iat`, where they are present, must have come. */
export function requireStarted(claims: JsonObject, { nowMs, startToleranceSeconds }: TimeRules): void {
  for (const claim of ["nbf", "iat"]) {
    const time = optionalTime(claims, claim);
    if (time !== undefined && nowMs < (time - startToleranceSeconds) * 1000) {
      throw new TokenError("not_yet_valid", `${claim}: the token is not valid yet`, { claim });
    }
  }
}

/** From now, and from those of `starts` that there are. A clock that is ahead writes a later `exp` as well. */
export function requireLifetime(
  claims: JsonObject,
  exp: number,
  { maxSeconds, starts }: { readonly maxSeconds: number; readonly starts: readonly string[] },
  { nowMs, startToleranceSeconds }: TimeRules,
): void {
  const times = starts.map((claim) => optionalTime(claims, claim)).filter((time) => time !== undefined);
  const latest = Math.min(nowMs / 1000, ...times) + maxSeconds + startToleranceSeconds;
  if (exp > latest)
    throw new TokenError("lifetime_too_long", `exp: expected at most ${maxSeconds} seconds`, { claim: "exp" });
}

export function invalid(claim: string, expected: string): TokenError {
  return new TokenError("invalid_claim", `${claim}: ${expected}`, { claim });
}
