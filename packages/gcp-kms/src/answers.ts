import { isUint8Array } from "node:util/types";
import crc32c from "crc-32/crc32c.js";
import { ecdsaDerToRaw, SignerError, spkiToJwk } from "@signpost/core";
import { decodedAnswer, incompleteAnswer, memberOf, type OpenedKey } from "@signpost/core/adapter";
import type { GcpKmsChecksum, GcpKmsPublicKeyResponse, GcpKmsSignResponse } from "./api.ts";
import { isKeyVersionName, namesProjectOtherwise } from "./key-name.ts";

// What the service answers is checked here, whole, with its end-to-end integrity:
// https://cloud.google.com/kms/docs/data-integrity-guidelines

const ALGORITHM = "EC_SIGN_P256_SHA256";

/** CRC32C (RFC 3720 appendix B.4) as an unsigned number. */
export function checksumOf(bytes: Uint8Array): number {
  return crc32c.buf(bytes) >>> 0;
}

/** The key of a GetPublicKey answer that is whole, about this version, and of the one algorithm that signs ES256. */
export function readPublicKey(answer: GcpKmsPublicKeyResponse, keyVersion: string): OpenedKey {
  const { name, algorithm, pem, pemCrc32c, protectionLevel } = members("GetPublicKey", answer);
  requireName("GetPublicKey", name, keyVersion);
  const refusal = algorithmError("GetPublicKey", algorithm, keyVersion);
  if (refusal !== undefined) throw refusal;
  if (typeof pem !== "string" || pem === "") throw incompleteAnswer("GetPublicKey", "pem");
  requireChecksum("GetPublicKey", "pemCrc32c", pemCrc32c, Buffer.from(pem, "utf8"));
  return {
    name: keyVersion,
    publicKey: decodedAnswer("pem", () => spkiToJwk(pem)),
    notes: [`protection level ${isWord(protectionLevel) ? protectionLevel : "unknown"}`],
  };
}

/** The 64 bytes r‖s of an AsymmetricSign answer in which everything that the service promises is there and right. */
export function readSignature(answer: GcpKmsSignResponse, keyVersion: string): Uint8Array {
  const { name, signature, signatureCrc32c, verifiedDigestCrc32c } = members("AsymmetricSign", answer);
  if (!isUint8Array(signature) || signature.length === 0) throw incompleteAnswer("AsymmetricSign", "signature");
  requireName("AsymmetricSign", name, keyVersion);
  requireVerifiedDigest(verifiedDigestCrc32c);
  requireChecksum("AsymmetricSign", "signatureCrc32c", signatureCrc32c, signature);
  return decodedAnswer("signature", () => ecdsaDerToRaw(signature));
}

function members<Answer extends object>(
  operation: string,
  answer: Answer,
): { readonly [Name in keyof Answer]: unknown } {
  if (typeof answer !== "object" || answer === null) throw incompleteAnswer(operation, "any member");
  return answer;
}

/** A value of one of the API's enums. A client that does not know its name gives the number. */
export function isWord(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** What is wrong with the algorithm of a version, if anything is. */
export function algorithmError(operation: string, algorithm: unknown, keyVersion: string): SignerError | undefined {
  if (algorithm === ALGORITHM) return undefined;
  if (!isWord(algorithm)) return incompleteAnswer(operation, "algorithm");
  return new SignerError("unsupported_key", `${keyVersion} has the algorithm ${algorithm}, expected ${ALGORITHM}`);
}

function requireName(operation: string, name: unknown, keyVersion: string): void {
  if (name === keyVersion) return;
  if (typeof name !== "string" || name === "") throw incompleteAnswer(operation, "name");
  if (!isKeyVersionName(name)) throw damaged("the name in the answer is no name of a version");
  const hint = namesProjectOtherwise(name, keyVersion) ? "; name the project as the service does" : "";
  throw new SignerError("wrong_key", `asked for ${keyVersion}, the service answered for ${name}${hint}`);
}

/** Over both transports the client reads an absent member as false, so that only a bare answer shows the difference. */
function requireVerifiedDigest(verified: unknown): void {
  if (verified === true) return;
  if (verified === undefined || verified === null) throw incompleteAnswer("AsymmetricSign", "verifiedDigestCrc32c");
  throw damaged("the service did not receive the digest's checksum, which was sent");
}

function requireChecksum(operation: string, member: string, checksum: unknown, bytes: Uint8Array): void {
  // It may be an object that prints the number.
  const value = memberOf(checksum, "value") as GcpKmsChecksum["value"];
  if (value === undefined || value === null) throw incompleteAnswer(operation, member);
  // Zero is a checksum like any other; "" and "0x0" are none.
  if (!/^\d{1,10}$/.test(String(value)) || Number(value) !== checksumOf(bytes)) {
    throw damaged(`${member} does not match`);
  }
}

/** What was changed on its way may be whole the next time. */
function damaged(what: string): SignerError {
  return new SignerError("integrity", `the answer of Cloud KMS was damaged on its way: ${what}`, { transient: true });
}
