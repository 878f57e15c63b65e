import { readCertificates } from "../certificate/read-certificates.ts";
import type { P256PublicJwk } from "../encoding/ec-point.ts";
import { p256JwkFrom, publicJwkFrom } from "../encoding/given-key.ts";
import type { PublicJwk } from "../encoding/public-jwk.ts";
import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { asConfigured } from "../options/as-configured.ts";
import { isThenable } from "../thenable.ts";
import type { Signer } from "../signer/contract.ts";
import { readKeyId } from "./key-id.ts";
import type { KeyRole, PublishedKey } from "./types.ts";

/** RFC 7518 section 4.1. `RSA1_5` is left out (RFC 8725 section 3.2). The first of each list is the default. */
const ENCRYPTION_ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  RSA: ["RSA-OAEP-256", "RSA-OAEP", "RSA-OAEP-384", "RSA-OAEP-512"],
  EC: ["ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A192KW", "ECDH-ES+A256KW"],
};

/** A signing entry: the published key, and its signer if it has one. */
export interface ReadSigningEntry {
  readonly published: PublishedKey & { readonly publicKey: P256PublicJwk };
  readonly signer: Signer | undefined;
}

const SIGNING_MEMBERS = ["keyId", "signer", "publicKey", "certificates"] as const;

/** Reads one signing entry, all but the validity of its certificates now. The signer's public key is read once, here, and never again. */
export function readSigningEntry(entry: unknown, argument: string, role: KeyRole): ReadSigningEntry {
  const { keyId, signer, publicKey, certificates } = readObject(entry, argument, SIGNING_MEMBERS);
  if ((signer === undefined) === (publicKey === undefined)) {
    const got = signer === undefined ? "neither" : "both";
    throw new ConfigurationError(argument, `expected either a signer or a publicKey, got ${got}`);
  }
  if (signer !== undefined) requireSigner(signer, `${argument}.signer`);
  const source = signer === undefined ? publicKey : signer.publicKey;
  const name = signer === undefined ? `${argument}.publicKey` : `${argument}.signer.publicKey`;
  const key = asConfigured(name, () => Object.freeze(p256JwkFrom(source, name)));
  const named = { keyId: readKeyId(argument, keyId, key), publicKey: key };
  const published = { ...named, alg: "ES256", use: "sig", role } as const;
  refuseContradiction(source, name, published);
  if (certificates !== undefined) {
    const chain = readCertificates(`${argument}.certificates`, certificates, named);
    return { published: Object.freeze({ ...published, certificates: chain }), signer };
  }
  return { published: Object.freeze(published), signer };
}

/** Reads one key of `encryptionKeyset`: RSA, or EC on one of the three curves. */
export function readEncryptionKey(entry: unknown, argument: string): PublishedKey {
  const { keyId, publicKey, alg } = readObject(entry, argument, ["keyId", "publicKey", "alg"]);
  const name = `${argument}.publicKey`;
  const key = asConfigured(name, () => publicJwkFrom(publicKey, name));
  const algorithms = ENCRYPTION_ALGORITHMS[key.kty];
  if (algorithms === undefined)
    throw new ConfigurationError(name, `expected an RSA or EC key, got a key of type ${key.kty}`);
  const wanted = alg === undefined ? algorithms[0] : alg;
  const chosen = algorithms.find((known) => known === wanted);
  if (chosen === undefined) {
    throw new ConfigurationError(
      `${argument}.alg`,
      `expected one of ${algorithms.join(", ")} for a key of type ${key.kty}, got ${describeAlg(alg)}`,
    );
  }
  return publish(publicKey, name, {
    keyId: readKeyId(argument, keyId, key),
    publicKey: key,
    alg: chosen,
    use: "enc",
    role: "encryption",
  });
}

/** Reads one key of `legacyVerificationKeys`: RSA for RS256 and PS256, Ed25519 for EdDSA. */
export function readLegacyKey(entry: unknown, argument: string): PublishedKey {
  const { keyId, publicKey, alg } = readObject(entry, argument, ["keyId", "publicKey", "alg"]);
  if (alg !== "RS256" && alg !== "PS256" && alg !== "EdDSA") {
    throw new ConfigurationError(`${argument}.alg`, `expected RS256, PS256 or EdDSA, got ${describeAlg(alg)}`);
  }
  const name = `${argument}.publicKey`;
  const key = asConfigured(name, () => publicJwkFrom(publicKey, name));
  if (alg === "EdDSA" ? !isEd25519(key) : key.kty !== "RSA") {
    throw new ConfigurationError(
      name,
      `expected ${alg === "EdDSA" ? "an Ed25519" : "an RSA"} key for ${alg}, got ${"crv" in key ? key.crv : key.kty}`,
    );
  }
  return publish(publicKey, name, {
    keyId: readKeyId(argument, keyId, key),
    publicKey: key,
    alg,
    use: "sig",
    role: "legacy",
  });
}

function isEd25519(key: PublicJwk): boolean {
  return key.kty === "OKP" && key.crv === "Ed25519";
}

function publish(source: unknown, name: string, key: PublishedKey): PublishedKey {
  refuseContradiction(source, name, key);
  return Object.freeze({ ...key, publicKey: Object.freeze(key.publicKey) });
}

/** Refuses a JWK with a `kid`, `alg` or `use` that differs from the published one. It was meant for another purpose. */
function refuseContradiction(source: unknown, name: string, key: PublishedKey): void {
  if (typeof source !== "object" || source === null) return;
  const stated = source as Readonly<Record<string, unknown>>;
  const published = { kid: key.keyId, alg: key.alg, use: key.use };
  for (const [member, value] of Object.entries(published)) {
    const own = stated[member];
    if (own === undefined || own === value) continue;
    const remedy = member === "kid" ? "; to publish another kid, set keyId" : "";
    throw new ConfigurationError(
      name,
      `the JWK's "${member}" must be ${JSON.stringify(value)}, as in the published key, got ${describeAlg(own)}${remedy}`,
    );
  }
}

function requireSigner(value: unknown, argument: string): asserts value is Signer {
  const signer = typeof value === "object" && value !== null ? (value as Partial<Record<keyof Signer, unknown>>) : {};
  if (typeof signer.sign !== "function" || typeof signer.publicKey !== "object") {
    throw new ConfigurationError(
      argument,
      `expected a signer: an object with publicKey and sign, got ${isThenable(value) ? "a promise" : given(value)}; await its open function`,
    );
  }
}

/** The named members of an entry, each read once. */
export function readObject<Name extends string>(
  value: unknown,
  argument: string,
  names: readonly Name[],
): Record<Name, unknown> {
  if (typeof value !== "object" || value === null) {
    throw new ConfigurationError(argument, `expected an object, got ${given(value)}`);
  }
  const members = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(names.map((name) => [name, members[name]])) as Record<Name, unknown>;
}

const ALGORITHM = /^(?:[EHPR]S(?:256|384|512)|Ed(?:DSA|25519|448)|RSA-OAEP(?:-\d{3})?|ECDH-ES(?:\+A\d{3}KW)?)$/;

/** Shows an algorithm by its name. Any other text may be in the wrong place, and is not shown. */
function describeAlg(alg: unknown): string {
  return typeof alg === "string" && ALGORITHM.test(alg) ? alg : given(alg);
}
