import { readWholeNumber } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import { isObject, parseJson } from "./json.ts";
import type { DropReason, LeftOut, VerificationKey } from "./parse-jwk.ts";
import { describeLeftOut, parseJwk } from "./parse-jwk.ts";

/** A parsed set. */
export interface ParsedJwks {
  /** Identical entries are one key. */
  readonly keys: readonly VerificationKey[];
  /** The same keys by `kid`, because a set may have thousands and every token needs one. */
  readonly byKid: ReadonlyMap<string, readonly VerificationKey[]>;
  /** For the error if a token has the `kid` of one. */
  readonly leftOut: readonly LeftOut[];
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
}

/** The option `maxKeys`. */
export function readMaxKeys(value: number | undefined): number {
  return readWholeNumber("maxKeys", value === undefined ? 64 : value, 1, 10_000);
}

/**
 * Reads a JWK Set. Entries are checked one by one (RFC 7517 section 5: unknown ones are ignored). A set without any usable key is
 * refused, so it never replaces one that works.
 */
export function parseJwks(document: unknown, maxKeys: number): ParsedJwks {
  const entries = isObject(document) ? document["keys"] : undefined;
  if (!Array.isArray(entries)) throw new KeySetError("invalid_jwks", 'expected a JSON object with an array "keys"');
  if (entries.length > maxKeys)
    throw new KeySetError("invalid_jwks", `expected at most ${maxKeys} keys (maxKeys), got ${entries.length}`);
  const keys: VerificationKey[] = [];
  const leftOut: LeftOut[] = [];
  const seen = new Set<string>();
  for (const entry of entries) {
    const parsed = parseJwk(entry);
    if ("reason" in parsed) {
      leftOut.push(parsed);
      continue;
    }
    // Members have a fixed order and spelling, so equal keys have equal texts.
    const text = JSON.stringify([parsed.kid, parsed.alg, parsed.publicJwk]);
    if (!seen.has(text)) keys.push(parsed);
    seen.add(text);
  }
  if (keys.length === 0) {
    const reasons = leftOut.length === 0 ? "" : `: ${describeLeftOut(leftOut)}`;
    throw new KeySetError("no_usable_key", `none of the ${entries.length} keys can verify a signature${reasons}`);
  }
  return { keys, byKid: groupByKid(keys), leftOut, dropped: countReasons(leftOut) };
}

function groupByKid(keys: readonly VerificationKey[]): ReadonlyMap<string, readonly VerificationKey[]> {
  const groups = new Map<string, VerificationKey[]>();
  for (const key of keys) {
    if (key.kid === undefined) continue;
    const group = groups.get(key.kid);
    if (group === undefined) groups.set(key.kid, [key]);
    else group.push(key);
  }
  return groups;
}

function countReasons(leftOut: readonly LeftOut[]): Partial<Record<DropReason, number>> {
  const counts: Partial<Record<DropReason, number>> = {};
  for (const { reason } of leftOut) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

/** The same for the bytes of an HTTP answer. */
export function parseJwksBody(body: Uint8Array, maxKeys: number): ParsedJwks {
  const json = parseJson(body);
  if (json === undefined) throw new KeySetError("invalid_jwks", "expected JSON in UTF-8");
  return parseJwks(json.value, maxKeys);
}
