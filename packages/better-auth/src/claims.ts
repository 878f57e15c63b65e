import { ConfigurationError, type JwtClaims } from "@signpost/core";
import { given } from "@signpost/core/adapter";

/**
 * The claims of a token as JSON. The host's payload is the user of the session: it has Dates, and members that are undefined.
 * As in the host's own tokens, a Date becomes a text, and undefined members are left out.
 */
export function claimsOf(payload: object): JwtClaims {
  const text = JSON.stringify(payload, function refuseLoss(this: Record<string, unknown>, name, value: unknown) {
    const number = this[name];
    if (typeof number === "bigint" || (typeof number === "number" && !Number.isFinite(number))) {
      throw new ConfigurationError("payload", `${JSON.stringify(name)} has no form in JSON: it is ${given(number)}`);
    }
    return value;
  });
  return JSON.parse(text) as JwtClaims;
}
