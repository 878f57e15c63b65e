import { ConfigurationError } from "@signpost/core";
import { readCallback, readNumber } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { TokenError } from "../errors.ts";
import type { JsonObject } from "../jwk/json.ts";

export interface TimeRules {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly toleranceSeconds: number;
}

/** The options that every verification shares. */
export interface TimeOptions {
  /** How far the other side's clock may be off. Seconds, 0 to 300, default 5. */
  readonly clockToleranceSeconds?: number | undefined;
  /** Gives milliseconds since the epoch. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

export const TIME_OPTIONS: OptionNames<TimeOptions> = { clockToleranceSeconds: true, now: true };

/** Judges the options at once, and reads the clock when it is asked: fetching a key takes time. */
export function timeRules({ clockToleranceSeconds = 5, now = Date.now }: TimeOptions): () => TimeRules {
  const toleranceSeconds = readNumber("clockToleranceSeconds", clockToleranceSeconds, 0, 300);
  readCallback("now", now);
  return () => {
    const nowMs = now();
    // Nothing would be later than NaN, so that no token had expired.
    if (!Number.isFinite(nowMs)) throw new ConfigurationError("now", "expected a function that gives milliseconds");
    return { nowMs, toleranceSeconds };
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

/** One value, and that one of the accepted: a token for several audiences could be used at each of them. */
export function requireSoleAudience(claims: JsonObject, accepted: readonly string[]): void {
  const [only, ...more] = audiences(claims);
  if (only === undefined || more.length > 0 || !accepted.includes(only)) {
    throw new TokenError("invalid_audience", "aud: expected this issuer alone", { claim: "aud" });
  }
}

export function requireNotExpired(exp: number, { nowMs, toleranceSeconds }: TimeRules): void {
  if (nowMs >= (exp + toleranceSeconds) * 1000) {
    throw new TokenError("expired", "exp: the token has expired", { claim: "exp" });
  }
}

/** `nbf` and `iat`, where they are present, must have come. */
export function requireStarted(claims: JsonObject, { nowMs, toleranceSeconds }: TimeRules): void {
  for (const claim of ["nbf", "iat"]) {
    const time = optionalTime(claims, claim);
    if (time !== undefined && nowMs < (time - toleranceSeconds) * 1000) {
      throw new TokenError("not_yet_valid", `${claim}: the token is not valid yet`, { claim });
    }
  }
}

/** From now, and from `iat` where there is one. */
export function requireLifetime(claims: JsonObject, exp: number, maxSeconds: number, rules: TimeRules): void {
  const started = optionalTime(claims, "iat") ?? rules.nowMs / 1000;
  const latest = Math.min(started, rules.nowMs / 1000) + maxSeconds + rules.toleranceSeconds;
  if (exp > latest)
    throw new TokenError("lifetime_too_long", `exp: expected at most ${maxSeconds} seconds`, { claim: "exp" });
}

export function invalid(claim: string, expected: string): TokenError {
  return new TokenError("invalid_claim", `${claim}: ${expected}`, { claim });
}
