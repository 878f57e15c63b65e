import { ConfigurationError } from "@signpost/core";
import { TokenError } from "../errors.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import type { CompactJws } from "../token/compact.ts";
import { parseCompactJws } from "../token/compact.ts";
import { verifySignature } from "../token/signature.ts";
import { RP_SIGNING_ALGORITHMS } from "./algorithms.ts";

/** The option `algorithms`: some of the list, at least one. */
export function readAlgorithms(value: unknown = RP_SIGNING_ALGORITHMS): readonly string[] {
  const known: readonly unknown[] = RP_SIGNING_ALGORITHMS;
  if (!Array.isArray(value) || value.length === 0 || !value.every((alg) => known.includes(alg))) {
    throw new ConfigurationError("algorithms", `expected some of ${known.join(", ")}`);
  }
  return value;
}

/** Takes an RP's JWS apart; its `alg` is decided here, before anybody asks for a key. */
export function parseClientJws(jwt: string, allowed: readonly string[]): CompactJws {
  const jws = parseCompactJws(jwt);
  if (!allowed.includes(jws.alg)) {
    throw new TokenError("alg_not_allowed", `alg: expected one of ${allowed.join(", ")}`, { claim: "alg" });
  }
  return jws;
}

/** The client's keys are at hand already: the `kid` only selects among them. */
export async function verifyClientSignature(jwt: string, jws: CompactJws, keys: KeyFunction): Promise<void> {
  const { kid } = jws.header;
  if (kid !== undefined && typeof kid !== "string")
    throw new TokenError("malformed_jwt", "kid: expected a string", { claim: "kid" });
  // The header is rebuilt from what selects a key: jku, x5u, jwk and x5c go nowhere.
  await verifySignature(jwt, jws, await keys(kid === undefined ? { alg: jws.alg } : { alg: jws.alg, kid }));
}
