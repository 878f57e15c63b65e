import { KeySetError } from "../errors.ts";
import type { AlgorithmKey } from "./algorithms.ts";
import { algorithmKey } from "./algorithms.ts";
import type { VerificationKey } from "./parse-jwk.ts";
import { fits } from "./parse-jwk.ts";

/** What a JWS header asks for. */
export interface KeyRequest {
  readonly alg: string;
  readonly wanted: AlgorithmKey;
  /** Absent only where the caller allows it. */
  readonly kid: string | undefined;
}

/** The members of a protected header that select a key. `jku`, `x5u`, `jwk` and `x5c` never do (RFC 8725 section 3.10). */
export interface SelectingHeader {
  readonly alg?: string | undefined;
  readonly kid?: string | undefined;
}

/** Judges the header before anything is looked up or fetched. */
export function keyRequest(header: SelectingHeader | undefined, allowMissingKid: boolean): KeyRequest {
  const { alg, kid } = header ?? {};
  const wanted = typeof alg === "string" ? algorithmKey(alg) : undefined;
  if (alg === undefined || wanted === undefined) {
    throw new KeySetError("unsupported_alg", "alg: expected a signature algorithm with a public key");
  }
  if (kid === undefined && !allowMissingKid) throw new KeySetError("missing_kid", "kid: expected one in the header");
  if (kid !== undefined && (typeof kid !== "string" || kid === "")) {
    throw new KeySetError("missing_kid", "kid: expected a non-empty string");
  }
  return { alg, wanted, kid };
}

/**
 * The one key that fits, or `undefined` where the `kid` is not in the set. Never another key: a set of one
 * key is no exception. Several keys may share a `kid`; exactly one of them must fit the algorithm.
 */
export function selectKey(keys: readonly VerificationKey[], request: KeyRequest): VerificationKey | undefined {
  const { alg, wanted, kid } = request;
  const named = kid === undefined ? keys : keys.filter((key) => key.kid === kid);
  if (named.length === 0) return undefined;
  const fitting = named.filter((key) => fits(key.publicJwk, wanted) && (key.alg === undefined || key.alg === alg));
  if (fitting.length > 1) throw new KeySetError("ambiguous_key", "more than one key fits the header");
  const [only] = fitting;
  if (only === undefined && kid !== undefined)
    throw new KeySetError("no_suitable_key", "the key of this kid does not fit the alg");
  return only;
}
