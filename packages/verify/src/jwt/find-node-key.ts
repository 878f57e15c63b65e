import { KeyObject } from "node:crypto";
import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import { abortable } from "../http/abortable.ts";
import { findKeyOf } from "../jwk/key-function.ts";
import type { VerifierKey } from "../jwk/import-public-jwk.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import { readPublicJwk } from "../jwk/public-jwk.ts";
import type { JwtAlgorithm } from "../token/algorithms.ts";
import { fits, SCHEMES } from "../token/algorithms.ts";

/** The members of a header that select a key. `jku`, `x5u`, `jwk` and `x5c` never do (RFC 8725 section 3.10). */
export interface KeyHeader {
  readonly alg: JwtAlgorithm;
  readonly kid?: string;
}

/** A key for node:crypto. */
type NodeKey = Pick<VerifierKey, "keyObject">;

/** Finds the key of a header. */
export type FindNodeKey = (header: KeyHeader, signal: AbortSignal | undefined) => Promise<NodeKey>;

/**
 * Uses the keys of this package's key functions directly. Any other key function, such as one of jose or a function around ours,
 * returns a CryptoKey, which is checked and converted once.
 */
export function findNodeKey(keys: KeyFunction): FindNodeKey {
  const find = findKeyOf(keys);
  if (find !== undefined) return find;
  const converted = new WeakMap<object, Converted>();
  return async (header, signal) => {
    const key: unknown = await abortable(Promise.resolve(keys({ ...header })), signal);
    const known = converted.get(Object(key)) ?? convert(key);
    converted.set(Object(key), known);
    const { object } = known;
    if (known.usable && fits(key, object, SCHEMES[header.alg])) return { keyObject: () => object };
    throw new KeySetError("no_suitable_key", "the key that the key function returned does not fit the alg");
  };
}

interface Converted {
  readonly object: KeyObject;
  /** Whether the rules of our own key functions allow it. */
  readonly usable: boolean;
}

function convert(key: unknown): Converted {
  const object = toKeyObject(key);
  return { object, usable: isUsable(object) };
}

function toKeyObject(key: unknown): KeyObject {
  if (key instanceof KeyObject) return key;
  try {
    return KeyObject.from(key as Parameters<typeof KeyObject.from>[0]);
  } catch {
    throw new ConfigurationError("keys", `expected a function that returns a CryptoKey, got the result ${given(key)}`);
  }
}

/** A public key that is neither weak nor unsafe. */
function isUsable(object: KeyObject): boolean {
  if (object.type !== "public") return false;
  try {
    return !("reason" in readPublicJwk(object.export({ format: "jwk" })));
  } catch {
    // It has no JWK form, so no algorithm is for it.
    return false;
  }
}
