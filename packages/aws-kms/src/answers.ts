import { isUint8Array } from "node:util/types";
import { ecdsaDerToRaw, SignerError, spkiToJwk } from "@signpost/core";
import { decodedAnswer, incompleteAnswer, type OpenedKey } from "@signpost/core/adapter";
import type { AwsKmsGetPublicKeyOutput, AwsKmsSignOutput } from "./api.ts";
import { isKeyArnFor } from "./key-name.ts";

// What KMS answers is checked here, whole: a client gives out members that are missing or of another type.

/** The key of a GetPublicKey answer to `key`, if it is one that signs ES256. */
export function readPublicKey(answer: AwsKmsGetPublicKeyOutput, key: string): OpenedKey {
  const { KeyId, PublicKey, KeySpec, KeyUsage, SigningAlgorithms } = members(answer, "kms:GetPublicKey");
  if (typeof KeyId !== "string") throw incompleteAnswer("kms:GetPublicKey", "KeyId");
  if (!isKeyArnFor(KeyId, key)) throw new SignerError("wrong_key", "kms:GetPublicKey answered for another key");
  if (PublicKey === undefined) throw incompleteAnswer("kms:GetPublicKey", "PublicKey");
  if (!isUint8Array(PublicKey)) throw damaged("kms:GetPublicKey", "PublicKey");
  const algorithms: readonly unknown[] = Array.isArray(SigningAlgorithms) ? SigningAlgorithms : [];
  if (KeySpec !== "ECC_NIST_P256" || KeyUsage !== "SIGN_VERIFY" || !algorithms.includes("ECDSA_SHA_256")) {
    const found = [KeySpec, KeyUsage, ...algorithms].filter((word) => typeof word === "string").join(", ");
    throw new SignerError(
      "unsupported_key",
      `expected a KMS key of spec ECC_NIST_P256, usage SIGN_VERIFY and algorithm ECDSA_SHA_256, found ${found || "none of these"}`,
    );
  }
  return { name: KeyId, publicKey: decodedAnswer("PublicKey", () => spkiToJwk(PublicKey)) };
}

/** The 64 bytes r‖s of a Sign answer for the key `keyArn`. */
export function readSignature(answer: AwsKmsSignOutput, keyArn: string): Uint8Array {
  const { KeyId, Signature, SigningAlgorithm } = members(answer, "kms:Sign");
  if (Signature === undefined) throw incompleteAnswer("kms:Sign", "Signature");
  if (typeof KeyId !== "string") throw incompleteAnswer("kms:Sign", "KeyId");
  if (KeyId !== keyArn) throw new SignerError("wrong_key", "kms:Sign was answered with the signature of another key");
  if (SigningAlgorithm !== undefined && SigningAlgorithm !== "ECDSA_SHA_256") {
    throw new SignerError("integrity", "kms:Sign was answered for another signing algorithm");
  }
  if (!isUint8Array(Signature)) throw damaged("kms:Sign", "Signature");
  return decodedAnswer("Signature", () => ecdsaDerToRaw(Signature));
}

function members<Answer extends object>(
  answer: Answer,
  operation: string,
): { readonly [Name in keyof Answer]: unknown } {
  if (typeof answer !== "object" || answer === null) throw incompleteAnswer(operation, "any member");
  return answer;
}

function damaged(operation: string, member: string): SignerError {
  return new SignerError("integrity", `${operation} was answered with a ${member} that is not bytes`);
}
