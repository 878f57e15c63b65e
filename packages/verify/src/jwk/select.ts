import { KeySetError } from "../errors.ts";
import type { AlgorithmKey } from "./algorithms.ts";
import { algorithmKey, isSameAlgorithm } from "./algorithms.ts";
import type { KidMemory } from "./kid-memory.ts";
import type { LeftOut, VerificationKey } from "./parse-jwk.ts";
import { describeLeftOut, fits } from "./parse-jwk.ts";
import type { ParsedJwks } from "./parse-jwks.ts";

/** What a JWS header asks for. */
export interface KeyRequest {
  readonly alg: string;
  readonly wanted: AlgorithmKey;
  /** Absent only if the caller allows it. */
  readonly kid: string | undefined;
}

/** The members of a protected header that select a key. `jku`, `x5u`, `jwk` and `x5c` never do (RFC 8725 section 3.10). */
export interface SelectingHeader {
  readonly alg?: string | undefined;
  readonly kid?: string | undefined;
}

/** Checks the header before anything is looked up or fetched. */
export function keyRequest(header: SelectingHeader | undefined, allowMissingKid: boolean): KeyRequest {
  const { alg, kid } = header ?? {};
  const wanted = typeof alg === "string" ? algorithmKey(alg) : undefined;
  if (alg === undefined || wanted === undefined) {
    throw new KeySetError("unsupported_alg", "alg: expected a supported signature algorithm with a public key");
  }
  if (kid === undefined && !allowMissingKid) throw new KeySetError("missing_kid", "kid: expected a kid in the header");
  if (kid !== undefined && (typeof kid !== "string" || kid === "")) {
    throw new KeySetError("missing_kid", "kid: expected a non-empty string");
  }
  return { alg, wanted, kid };
}

/**
 * Returns the key that fits, or why there is none. Never returns another key, even if the set has only one. Several keys may share a
 * `kid`, but exactly one of them must fit the algorithm.
 */
export function selectKey(set: ParsedJwks, request: KeyRequest, kids?: KidMemory): VerificationKey | KeySetError {
  const { alg, wanted, kid } = request;
  const named = kid === undefined ? set.keys : (set.byKid.get(kid) ?? []);
  const fitting = distinct(
    named.filter((key) => fits(key.publicJwk, wanted) && (key.alg === undefined || isSameAlgorithm(key.alg, alg))),
  );
  const [only] = fitting;
  if (only === undefined) return noKey(set, kid, named);
  if (fitting.length > 1) return new KeySetError("ambiguous_key", "more than one key fits the header");
  return (kid === undefined ? undefined : kids?.refusalOf(only, named)) ?? only;
}

/** One key may have several entries, for example one for each `alg`. */
function distinct(keys: readonly VerificationKey[]): readonly VerificationKey[] {
  if (keys.length < 2) return keys;
  return [...new Map(keys.map((key) => [key.thumbprint(), key])).values()];
}

function noKey(set: ParsedJwks, kid: string | undefined, named: readonly VerificationKey[]): KeySetError {
  if (kid === undefined) {
    return new KeySetError("unknown_kid", `no key in the set fits the header${alsoLeftOut(set.leftOut)}`);
  }
  const reasons = describeLeftOut(set.leftOut.filter((entry) => entry.kid === kid));
  if (named.length > 0) {
    const another = reasons === "" ? "" : `, and another entry was left out: ${reasons}`;
    return new KeySetError("no_suitable_key", `the key of this kid does not fit the alg${another}`);
  }
  if (reasons === "") {
    // An entry with an unusable kid, such as a number, may be the one.
    const nameless = set.leftOut.filter((entry) => entry.kid === undefined);
    return new KeySetError("unknown_kid", `no key with this kid${alsoLeftOut(nameless)}`);
  }
  return new KeySetError("key_left_out", `the set has this kid, but its entry was left out: ${reasons}`);
}

/** Entries that the token may have meant. */
function alsoLeftOut(leftOut: readonly LeftOut[]): string {
  return leftOut.length === 0 ? "" : ` (left out of the set: ${describeLeftOut(leftOut)})`;
}
