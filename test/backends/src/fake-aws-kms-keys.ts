import { createPublicKey, generateKeyPairSync, randomUUID, type KeyObject } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { signDigest } from "./digest-signature.ts";

export type FakeKeySpec = "ECC_NIST_P256" | "ECC_NIST_P384" | "ECC_SECG_P256K1" | "RSA_2048" | "SYMMETRIC_DEFAULT";

/**
 * Selects one of the many valid signatures over a digest. `tiny-r` has three leading zero bytes in r, `tiny-s` one in s;
 * `high-r` and `high-s` have the top bit set, so that their DER needs a padding byte.
 */
export type SignatureShape = "any" | "tiny-r" | "tiny-s" | "high-r" | "high-s";

export interface FakeKmsKey {
  readonly keyId: string;
  readonly arn: string;
  readonly keySpec: FakeKeySpec;
  readonly keyUsage: string;
  readonly signingAlgorithms: readonly string[];
  /** None for a symmetric key. */
  readonly publicKey: KeyObject | undefined;
  /** DER of an ECDSA signature over exactly this digest. P-256 only. */
  sign(digest: Uint8Array, shape?: SignatureShape): Uint8Array;
}

export interface FakeKmsKeyOptions {
  /** Default a random UUID. */
  readonly keyId?: string | undefined;
  /** Default `ECC_NIST_P256`. */
  readonly keySpec?: FakeKeySpec | undefined;
  /** Default `SIGN_VERIFY`, and `ENCRYPT_DECRYPT` for a symmetric key. */
  readonly keyUsage?: string | undefined;
  /** A P-256 key made outside, so that two fakes can hold one. */
  readonly privateKey?: KeyObject | undefined;
}

const ALGORITHMS: Readonly<Record<FakeKeySpec, readonly string[]>> = {
  ECC_NIST_P256: ["ECDSA_SHA_256"],
  ECC_NIST_P384: ["ECDSA_SHA_384"],
  ECC_SECG_P256K1: ["ECDSA_SHA_256"],
  RSA_2048: ["RSASSA_PKCS1_V1_5_SHA_256", "RSASSA_PSS_SHA_256"],
  SYMMETRIC_DEFAULT: [],
};

export function createFakeKmsKey(arnPrefix: string, options: FakeKmsKeyOptions = {}): FakeKmsKey {
  const keySpec = options.keySpec ?? "ECC_NIST_P256";
  const keyId = options.keyId ?? randomUUID();
  const privateKey = options.privateKey ?? generatePrivateKey(keySpec);
  return {
    keyId,
    arn: `${arnPrefix}:key/${keyId}`,
    keySpec,
    keyUsage: options.keyUsage ?? (keySpec === "SYMMETRIC_DEFAULT" ? "ENCRYPT_DECRYPT" : "SIGN_VERIFY"),
    signingAlgorithms: ALGORITHMS[keySpec],
    publicKey: privateKey === undefined ? undefined : createPublicKey(privateKey),
    sign: (digest, shape = "any") => {
      if (privateKey === undefined || keySpec !== "ECC_NIST_P256") throw new Error(`a ${keySpec} key cannot sign`);
      return signShaped(digest, secretBytes(privateKey), shape);
    },
  };
}

function generatePrivateKey(keySpec: FakeKeySpec): KeyObject | undefined {
  switch (keySpec) {
    case "ECC_NIST_P256":
      return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    case "ECC_NIST_P384":
      return generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey;
    case "ECC_SECG_P256K1":
      return generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey;
    case "RSA_2048":
      return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    case "SYMMETRIC_DEFAULT":
      return undefined;
  }
}

function secretBytes(privateKey: KeyObject): Uint8Array {
  return Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url");
}

/** With this nonce r begins with three zero bytes. Found by trying nonces one by one. */
const TINY_R_NONCE = 1_476_301n;

function signShaped(digest: Uint8Array, secret: Uint8Array, shape: SignatureShape): Uint8Array {
  if (shape === "any") return signDigest(digest, secret);
  if (shape === "tiny-r") return signWithNonce(digest, secret, TINY_R_NONCE).toBytes("der");
  for (let nonce = 2n; ; nonce += 1n) {
    const signature = signWithNonce(digest, secret, nonce);
    if (hasShape(signature, shape)) return signature.toBytes("der");
  }
}

type Signature = InstanceType<typeof p256.Signature>;

function hasShape({ r, s }: Signature, shape: "tiny-s" | "high-r" | "high-s"): boolean {
  if (shape === "tiny-s") return s >> 248n === 0n;
  return (shape === "high-r" ? r : s) >> 255n === 1n;
}

/** ECDSA as in FIPS 186-5 section 6.4.1, with a publicly known nonce: for tests only. */
function signWithNonce(digest: Uint8Array, secret: Uint8Array, nonce: bigint): Signature {
  const { Fn } = p256.Point;
  const r = Fn.create(p256.Point.BASE.multiply(nonce).toAffine().x);
  const s = Fn.mul(Fn.inv(nonce), Fn.add(integer(digest), Fn.mul(r, integer(secret))));
  return new p256.Signature(r, s);
}

function integer(bytes: Uint8Array): bigint {
  return p256.Point.Fn.create(BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
}
