import type { JsonObject } from "../jwk/json.ts";
import { TokenError } from "../errors.ts";
import { audiences, invalid, requireString } from "../token/claims.ts";
import type { TimeRules } from "../token/claims.ts";

// Checks of claims that RPs and resource servers share.

/** A non-empty string, or absent. */
export function optionalString(claims: JsonObject, claim: string): string | undefined {
  return claims[claim] === undefined ? undefined : requireString(claims, claim);
}

/** A claim that must equal what the caller knows. It must be present. */
export function requireEqual(claims: JsonObject, claim: string, expected: string): void {
  if (claims[claim] !== expected) throw invalid(claim, "expected the given value");
}

/** `aud`, which must name at least one of `accepted`. */
export function requireOwnAudience(claims: JsonObject, accepted: readonly string[]): readonly string[] {
  const present = audiences(claims);
  if (!present.some((audience) => accepted.includes(audience))) {
    throw new TokenError("invalid_audience", "aud: expected a value or list that contains the given audience", {
      claim: "aud",
    });
  }
  return present;
}

/** Refuses a time that is more than `maxSeconds` ago. `what` is what happened then. */
export function requireNotOlder(
  claim: string,
  time: number,
  { maxSeconds, what }: { readonly maxSeconds: number; readonly what: string },
  { nowMs, endToleranceSeconds }: TimeRules,
): void {
  if (nowMs >= (time + maxSeconds + endToleranceSeconds) * 1000) {
    throw new TokenError("expired", `${claim}: expected ${what} at most ${maxSeconds} seconds ago`, { claim });
  }
}
