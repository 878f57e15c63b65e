import { ConfigurationError, type JwtClaims } from "@signpost/core";
import { given } from "@signpost/core/adapter";

/**
 * The claims of a token as JSON. The host's payload is the user of the session: it has Dates, and members that are undefined.
 * As in the host's own tokens, a Date becomes a text, and undefined members are left out.
 */
export function claimsOf(payload: object): JwtClaims {
  // It would replace all claims, those that the host adds among them, such as `exp` and `aud`.
  if (typeof (payload as { readonly toJSON?: unknown }).toJSON === "function") {
    throw new ConfigurationError("payload", "expected plain claims, got an object with a method toJSON");
  }
  // With the result of a `toJSON`, which apps give to BigInt too.
  const text = JSON.stringify(payload, (name, value: unknown) => {
    if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) {
      throw new ConfigurationError("payload", `${JSON.stringify(name)} has no form in JSON: it is ${given(value)}`);
    }
    return value;
  });
  return JSON.parse(text) as JwtClaims;
}
