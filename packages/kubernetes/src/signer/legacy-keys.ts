import { createHash, createPublicKey } from "node:crypto";
import { ConfigurationError } from "@signpost/core";
import {
  asConfigured,
  assertOptions,
  given,
  type OptionNames,
  publicJwkFrom,
  type PublicJwk,
  readFlag,
} from "@signpost/core/adapter";
import type { FetchedKey, KubernetesLegacyKey } from "../signer-types.ts";

/** A legacy key, read. */
export interface ReadLegacyKey extends FetchedKey {
  readonly jwk: PublicJwk;
}

const LEGACY_NAMES: OptionNames<KubernetesLegacyKey> = { publicKey: true, excludeFromDiscovery: true };

/** Go reads no larger RSA exponent. */
const MAX_EXPONENT_BITS = 31;

/** Reads the option `legacyKeys`. A key that kube-apiserver cannot read would freeze its keys, so each is checked. */
export function readLegacyKeys(keys: unknown = []): readonly ReadLegacyKey[] {
  if (!Array.isArray(keys)) throw new ConfigurationError("legacyKeys", `expected a list of keys, got ${given(keys)}`);
  const read = keys.map((key, index) => readLegacyKey(key, `legacyKeys[${index}]`));
  for (const [index, { keyId }] of read.entries()) {
    const first = read.findIndex((other) => other.keyId === keyId);
    if (first !== index) throw new ConfigurationError(`legacyKeys[${index}]`, `the same key as legacyKeys[${first}]`);
  }
  return read;
}

function readLegacyKey(key: unknown, argument: string): ReadLegacyKey {
  assertOptions(argument, key, LEGACY_NAMES);
  const { publicKey, excludeFromDiscovery } = key as KubernetesLegacyKey;
  const jwk = readKey(publicKey, `${argument}.publicKey`);
  const spki = spkiOf(jwk);
  return {
    keyId: createHash("sha256").update(spki).digest("base64url"),
    spki,
    excludeFromDiscovery: readFlag(`${argument}.excludeFromDiscovery`, excludeFromDiscovery),
    jwk,
  };
}

function readKey(value: unknown, argument: string): PublicJwk {
  const jwk = asConfigured(argument, () => publicJwkFrom(value, argument));
  if (jwk.kty === "RSA") return requireGoExponent(jwk, argument);
  if (jwk.kty === "EC") return jwk;
  throw new ConfigurationError(argument, "expected an RSA key, or an EC key on P-256, P-384 or P-521");
}

function requireGoExponent(jwk: PublicJwk & { readonly e: string }, argument: string): PublicJwk {
  const exponent = BigInt(`0x${Buffer.from(jwk.e, "base64url").toString("hex")}`);
  if (exponent < 1n << BigInt(MAX_EXPONENT_BITS)) return jwk;
  throw new ConfigurationError(argument, `expected an RSA exponent of at most ${MAX_EXPONENT_BITS} bits`);
}

/** The SPKI of a public key in DER. */
function spkiOf(jwk: PublicJwk): Uint8Array {
  return createPublicKey({ key: { ...jwk }, format: "jwk" }).export({ format: "der", type: "spki" });
}
