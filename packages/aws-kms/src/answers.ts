import { isUint8Array } from "node:util/types";
import { ecdsaDerToRaw, EncodingError, SignerError, spkiToJwk, type P256PublicJwk } from "@signpost/core";
import type { KmsGetPublicKeyOutput, KmsSignOutput } from "./api.ts";
import { isKeyArnFor } from "./key-id.ts";

// What KMS answers is checked here, whole: a client gives out members that are missing or of another type.

export interface OpenedKey {
  readonly keyArn: string;
  readonly publicKey: P256PublicJwk;
}

/** The key of a GetPublicKey answer to `keyId`, if it is one that signs ES256. */
export function readPublicKey(answer: KmsGetPublicKeyOutput, keyId: string): OpenedKey {
  const { KeyId, PublicKey, KeySpec, KeyUsage, SigningAlgorithms } = members(answer, "kms:GetPublicKey");
  if (typeof KeyId !== "string") throw incomplete("kms:GetPublicKey", "KeyId");
  if (!isKeyArnFor(KeyId, keyId)) throw new SignerError("wrong_key", "kms:GetPublicKey answered for another key");
  if (PublicKey === undefined) throw incomplete("kms:GetPublicKey", "PublicKey");
  if (!isUint8Array(PublicKey)) throw damaged("kms:GetPublicKey", "PublicKey");
  const algorithms: readonly unknown[] = Array.isArray(SigningAlgorithms) ? SigningAlgorithms : [];
  if (KeySpec !== "ECC_NIST_P256" || KeyUsage !== "SIGN_VERIFY" || !algorithms.includes("ECDSA_SHA_256")) {
    const found = [KeySpec, KeyUsage, ...algorithms].filter((word) => typeof word === "string").join(", ");
    throw new SignerError(
      "unsupported_key",
      `expected a KMS key of spec ECC_NIST_P256, usage SIGN_VERIFY and algorithm ECDSA_SHA_256, found ${found || "none of these"}`,
    );
  }
  return { keyArn: KeyId, publicKey: decoded("PublicKey", () => spkiToJwk(PublicKey)) };
}

/** The 64 bytes r‖s of a Sign answer for the key `keyArn`. */
export function readSignature(answer: KmsSignOutput, keyArn: string): Uint8Array {
  const { KeyId, Signature, SigningAlgorithm } = members(answer, "kms:Sign");
  if (Signature === undefined) throw incomplete("kms:Sign", "Signature");
  if (typeof KeyId !== "string") throw incomplete("kms:Sign", "KeyId");
  if (KeyId !== keyArn) throw new SignerError("wrong_key", "kms:Sign was answered with the signature of another key");
  if (SigningAlgorithm !== undefined && SigningAlgorithm !== "ECDSA_SHA_256") {
    throw new SignerError("integrity", "kms:Sign was answered for another signing algorithm");
  }
  if (!isUint8Array(Signature)) throw damaged("kms:Sign", "Signature");
  return decoded("Signature", () => ecdsaDerToRaw(Signature));
}

function members<Answer extends object>(
  answer: Answer,
  operation: string,
): { readonly [Name in keyof Answer]: unknown } {
  if (typeof answer !== "object" || answer === null) throw incomplete(operation, "answer");
  return answer;
}

/** A whole answer may follow: a proxy that cuts answers short does not always do so. */
function incomplete(operation: string, member: string): SignerError {
  return new SignerError("integrity", `${operation} was answered without ${member}`, { transient: true });
}

function damaged(operation: string, member: string): SignerError {
  return new SignerError("integrity", `${operation} was answered with a ${member} that is not bytes`);
}

function decoded<Value>(member: string, decode: () => Value): Value {
  try {
    return decode();
  } catch (cause) {
    if (!(cause instanceof EncodingError)) throw cause;
    const code = CODES[cause.code];
    throw new SignerError(code, `${member}: ${cause.message}`, { cause });
  }
}

const CODES = {
  invalid_der: "integrity",
  invalid_spki: "integrity",
  invalid_point: "integrity",
  invalid_jwk: "integrity",
  // r or s out of range.
  invalid_signature: "bad_signature",
  unsupported_key: "unsupported_key",
  weak_key: "unsupported_key",
} as const;
