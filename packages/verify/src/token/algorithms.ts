import { constants } from "node:crypto";
import type { KeyObject, SignKeyObjectInput } from "node:crypto";

/** Algorithms that a JWT verifier can accept. Compared byte for byte. Never `none`, and none with a shared secret. */
export const JWT_ALGORITHMS = [
  "ES256",
  "ES384",
  "ES512",
  "Ed25519",
  "EdDSA",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
] as const;

/** One of `JWT_ALGORITHMS`. */
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number];

export function isJwtAlgorithm(alg: unknown): alg is JwtAlgorithm {
  const known: readonly unknown[] = JWT_ALGORITHMS;
  return known.includes(alg);
}

/** What node:crypto needs to verify an algorithm, and which keys fit it. */
export interface Scheme {
  /** `undefined` for an algorithm that hashes by itself. */
  readonly digest: "sha256" | "sha384" | "sha512" | undefined;
  /** The hash of `at_hash` and `c_hash` (OpenID Connect Core 1.0 section 3.1.3.6). Ed25519 hashes with SHA-512. */
  readonly claimDigest: "sha256" | "sha384" | "sha512";
  readonly parameters: Omit<SignKeyObjectInput, "key">;
  readonly keyType: "ec" | "rsa" | "ed25519";
  /** OpenSSL's name of the curve. */
  readonly curve?: string;
  /** The algorithm of a CryptoKey for RSA, which is for one padding alone. */
  readonly webCrypto?: "RSASSA-PKCS1-v1_5" | "RSA-PSS";
}

type Digest = Scheme["claimDigest"];

const ecdsa = (digest: Digest, curve: string): Scheme => ({
  digest,
  claimDigest: digest,
  // r‖s (RFC 7518 section 3.4).
  parameters: { dsaEncoding: "ieee-p1363" },
  keyType: "ec",
  curve,
});

const pkcs1 = (digest: Digest): Scheme => ({
  digest,
  claimDigest: digest,
  parameters: { padding: constants.RSA_PKCS1_PADDING },
  keyType: "rsa",
  webCrypto: "RSASSA-PKCS1-v1_5",
});

const pss = (digest: Digest): Scheme => ({
  digest,
  claimDigest: digest,
  // A salt as long as the hash (RFC 7518 section 3.5).
  parameters: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
  keyType: "rsa",
  webCrypto: "RSA-PSS",
});

const ED25519: Scheme = { digest: undefined, claimDigest: "sha512", parameters: {}, keyType: "ed25519" };

export const SCHEMES: Readonly<Record<JwtAlgorithm, Scheme>> = {
  ES256: ecdsa("sha256", "prime256v1"),
  ES384: ecdsa("sha384", "secp384r1"),
  ES512: ecdsa("sha512", "secp521r1"),
  Ed25519: ED25519,
  EdDSA: ED25519,
  PS256: pss("sha256"),
  PS384: pss("sha384"),
  PS512: pss("sha512"),
  RS256: pkcs1("sha256"),
  RS384: pkcs1("sha384"),
  RS512: pkcs1("sha512"),
};

interface CryptoKeyLike {
  readonly algorithm: { readonly name: string; readonly hash?: { readonly name: string } };
  readonly usages: readonly string[];
}

/** Whether another function's key may verify this algorithm. Our own key functions have checked this before. */
export function fits(key: unknown, object: KeyObject, { keyType, curve, digest, webCrypto }: Scheme): boolean {
  if (object.asymmetricKeyType !== keyType || object.asymmetricKeyDetails?.namedCurve !== curve) return false;
  // A KeyObject is for any padding and any hash. A CryptoKey is for one of each, and for the uses that it states.
  if (key === object) return true;
  const { algorithm, usages } = key as CryptoKeyLike;
  if (!usages.includes("verify")) return false;
  if (keyType !== "rsa") return true;
  return algorithm.name === webCrypto && algorithm.hash?.name.toLowerCase().replace("-", "") === digest;
}
