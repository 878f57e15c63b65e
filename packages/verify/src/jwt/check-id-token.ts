import { createHash } from "node:crypto";
import { TokenError } from "../errors.ts";
import type { JsonObject } from "../jwk/json.ts";
import { invalid, optionalTime, requireString, requireTime } from "../token/claims.ts";
import type { TimeRules } from "../token/claims.ts";
import type { Scheme } from "../token/algorithms.ts";
import type { CallRules } from "./call-options.ts";
import { optionalString, requireEqual, requireNotOlder, requireOwnAudience } from "./claim-checks.ts";
import type { VerifierRules } from "./verifier-options.ts";

/** OpenID Connect Core 1.0 section 3.1.3.7, without signature, issuer, `exp` and `iat`. */
export function checkIdToken(
  claims: JsonObject,
  rules: VerifierRules,
  call: CallRules,
  { scheme, time }: { readonly scheme: Scheme; readonly time: TimeRules },
): void {
  requireString(claims, "sub");
  requireParties(claims, rules);
  // Otherwise a logout token without typ would be accepted.
  if (claims["events"] !== undefined) throw invalid("events", "not allowed in an ID token");
  optionalString(claims, "nonce");
  if (call.nonce !== undefined) requireEqual(claims, "nonce", call.nonce);
  requireAuthTime(claims, call.maxAgeSeconds, time);
  requireHash(claims, "at_hash", call.accessToken, scheme);
  requireHash(claims, "c_hash", call.code, scheme);
}

/** Rules 3 to 5: no audience that is not trusted, and `azp` says which of several the token was issued to. */
function requireParties(claims: JsonObject, { audiences, otherAudiences, authorizedParties }: VerifierRules): void {
  const present = requireOwnAudience(claims, audiences);
  if (otherAudiences !== "any" && !present.every((audience) => otherAudiences.includes(audience))) {
    throw new TokenError("invalid_audience", "aud: expected only the given audience or values from otherAudiences", {
      claim: "aud",
    });
  }
  const azp = optionalString(claims, "azp");
  if (azp === undefined && present.length > 1)
    throw invalid("azp", "expected a client, because aud has several values");
  if (azp !== undefined && !authorizedParties.includes(azp))
    throw invalid("azp", "expected the given audience or a value from authorizedParties");
}

function requireAuthTime(claims: JsonObject, maxAgeSeconds: number | undefined, time: TimeRules): void {
  const given = maxAgeSeconds === undefined ? optionalTime(claims, "auth_time") : requireTime(claims, "auth_time");
  if (given === undefined) return;
  // It would be young forever.
  if (time.nowMs < (given - time.startToleranceSeconds) * 1000)
    throw new TokenError("not_yet_valid", "auth_time: expected a time in the past", { claim: "auth_time" });
  if (maxAgeSeconds !== undefined)
    requireNotOlder("auth_time", given, { maxSeconds: maxAgeSeconds, what: "an authentication" }, time);
}

/** Section 3.1.3.6: the left half of the hash of the text. */
function requireHash(claims: JsonObject, claim: string, text: string | undefined, { claimDigest }: Scheme): void {
  const present = optionalString(claims, claim);
  if (text === undefined) return;
  const digest = createHash(claimDigest).update(text).digest();
  if (present !== digest.subarray(0, digest.length / 2).toString("base64url"))
    throw invalid(claim, "expected the hash of the given value");
}
