import { TokenError } from "../errors.ts";
import type { JsonObject } from "../jwk/json.ts";
import { optionalTime, requireString } from "../token/claims.ts";
import type { CallRules } from "./call-options.ts";
import { optionalString, requireOwnAudience } from "./claim-checks.ts";
import type { VerifierRules } from "./verifier-options.ts";

/** RFC 9068 section 4, without signature, issuer, `exp` and `iat`. */
export function checkAccessToken(claims: JsonObject, { audiences }: VerifierRules, { scopes }: CallRules): void {
  requireOwnAudience(claims, audiences);
  for (const claim of ["sub", "client_id", "jti"]) requireString(claims, claim);
  optionalTime(claims, "auth_time");
  const granted = optionalString(claims, "scope")?.split(" ") ?? [];
  if (scopes !== undefined && !scopes.every((scope) => granted.includes(scope)))
    throw new TokenError("insufficient_scope", "scope: a required scope was not granted", { claim: "scope" });
}
