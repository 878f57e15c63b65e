import { TokenError } from "../errors.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import type { CompactJws } from "../token/compact.ts";
import { parseCompactJws, requireTyp } from "../token/compact.ts";
import { verifySignature } from "../token/signature.ts";

/** Parses an RP's JWS. The `alg` is checked here, before a key is looked up. */
export function parseClientJws(jwt: string, allowed: readonly string[]): CompactJws {
  const jws = parseCompactJws(jwt);
  if (!allowed.includes(jws.alg)) {
    throw new TokenError("alg_not_allowed", `alg: expected one of ${allowed.join(", ")}`, { claim: "alg" });
  }
  return jws;
}

/** Refuses a JWT of another kind. `own` is the `typ` of this kind, in the short form. */
export function requireClientTyp(jws: CompactJws, own: string, { anyTyp }: { readonly anyTyp: boolean }): void {
  requireTyp(jws.header, anyTyp ? [undefined, "jwt", own] : [own]);
}

/** The client's keys are already known. The `kid` only selects among them. */
export async function verifyClientSignature(jwt: string, jws: CompactJws, keys: KeyFunction): Promise<void> {
  const { kid } = jws.header;
  if (kid !== undefined && typeof kid !== "string")
    throw new TokenError("malformed_jwt", "kid: expected a string", { claim: "kid" });
  // Only alg and kid are passed on. jku, x5u, jwk and x5c are never used.
  await verifySignature(jwt, jws, await keys(kid === undefined ? { alg: jws.alg } : { alg: jws.alg, kid }));
}
