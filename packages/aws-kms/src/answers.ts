import { isUint8Array } from "node:util/types";
import { ecdsaDerToRaw, SignerError, spkiToJwk } from "@signpost/core";
import { decodedAnswer, incompleteAnswer, type OpenedKey } from "@signpost/core/adapter";
import type { AwsKmsGetPublicKeyOutput, AwsKmsSignOutput } from "./api.ts";
import { describeCall, type CallTarget } from "./errors.ts";
import { isKeyArn, isKeyArnFor } from "./key-name.ts";

// Checks every member of an answer. A client may return members that are missing or have the wrong type.

/** The key in a GetPublicKey answer, if it can sign ES256. */
export function readPublicKey(answer: AwsKmsGetPublicKeyOutput, target: CallTarget): OpenedKey {
  const call = describeCall("kms:GetPublicKey", target);
  const { KeyId, PublicKey, KeySpec, KeyUsage, SigningAlgorithms } = members(answer, call);
  if (typeof KeyId !== "string") throw incompleteAnswer(call, "KeyId");
  if (!isKeyArnFor(KeyId, target.key))
    throw new SignerError("wrong_key", `${call} returned the public key of another key${named(KeyId)}`);
  if (PublicKey === undefined) throw incompleteAnswer(call, "PublicKey");
  if (!isUint8Array(PublicKey)) throw damaged(call, "PublicKey");
  const algorithms: readonly unknown[] = Array.isArray(SigningAlgorithms) ? SigningAlgorithms : [];
  if (KeySpec !== "ECC_NIST_P256" || KeyUsage !== "SIGN_VERIFY" || !algorithms.includes("ECDSA_SHA_256")) {
    const found = [KeySpec, KeyUsage, ...algorithms].filter(isWord).join(", ");
    throw new SignerError(
      "unsupported_key",
      `${call}: expected a KMS key of spec ECC_NIST_P256, usage SIGN_VERIFY and algorithm ECDSA_SHA_256, found ${found || "none of these"}`,
    );
  }
  return { name: KeyId, publicKey: decodedAnswer(`${call}: PublicKey`, () => spkiToJwk(PublicKey)) };
}

/** The 64 bytes r‖s in a Sign answer for the key `keyArn`. */
export function readSignature(answer: AwsKmsSignOutput, keyArn: string, target: CallTarget): Uint8Array {
  const call = describeCall("kms:Sign", target);
  const { KeyId, Signature, SigningAlgorithm } = members(answer, call);
  if (Signature === undefined) throw incompleteAnswer(call, "Signature");
  if (typeof KeyId !== "string") throw incompleteAnswer(call, "KeyId");
  if (KeyId !== keyArn)
    throw new SignerError(
      "wrong_key",
      `${call} returned the signature of another key${named(KeyId)}, expected ${keyArn}`,
    );
  if (SigningAlgorithm !== undefined && SigningAlgorithm !== "ECDSA_SHA_256") {
    throw new SignerError("integrity", `${call} returned a signature for another algorithm, expected ECDSA_SHA_256`);
  }
  if (!isUint8Array(Signature)) throw damaged(call, "Signature");
  return decodedAnswer(`${call}: Signature`, () => ecdsaDerToRaw(Signature));
}

/** Whether this can be a value of an enumeration of the API. Any other text is not shown. */
function isWord(value: unknown): boolean {
  return typeof value === "string" && /^[A-Z][A-Z0-9_]{1,31}$/.test(value);
}

function members<Answer extends object>(
  answer: Answer,
  operation: string,
): { readonly [Name in keyof Answer]: unknown } {
  if (typeof answer !== "object" || answer === null) throw incompleteAnswer(operation, "any member");
  return answer;
}

/** The key in an answer, if it is a key ARN. Any other text is not shown. */
function named(keyId: string): string {
  return isKeyArn(keyId) ? `, ${keyId}` : "";
}

function damaged(operation: string, member: string): SignerError {
  return new SignerError("integrity", `${operation}: ${member} in the answer is not bytes`);
}
