import { isUint8Array } from "node:util/types";
import crc32c from "crc-32/crc32c.js";
import { ecdsaDerToRaw, SignerError, spkiToJwk } from "@signpost/core";
import { decodedAnswer, incompleteAnswer, memberOf, type OpenedKey } from "@signpost/core/adapter";
import type { GcpKmsChecksum, GcpKmsPublicKeyResponse, GcpKmsSignResponse } from "./api.ts";
import { isKeyVersionName, namesProjectOtherwise } from "./key-name.ts";

// Checks every member of an answer, and its end-to-end integrity:
// https://cloud.google.com/kms/docs/data-integrity-guidelines

const ALGORITHM = "EC_SIGN_P256_SHA256";

/** CRC32C (RFC 3720 appendix B.4) as an unsigned number. */
export function checksumOf(bytes: Uint8Array): number {
  return crc32c.buf(bytes) >>> 0;
}

/**
 * The key in a GetPublicKey answer, if it is complete, about this version, and of the one algorithm that signs ES256.
 */
export function readPublicKey(answer: GcpKmsPublicKeyResponse, keyVersion: string): OpenedKey {
  const call = `GetPublicKey of ${keyVersion}`;
  const { name, algorithm, pem, pemCrc32c, protectionLevel } = members(call, answer);
  requireName(call, name, keyVersion);
  const refusal = algorithmError(call, algorithm, keyVersion);
  if (refusal !== undefined) throw refusal;
  if (typeof pem !== "string" || pem === "") throw incompleteAnswer(call, "pem");
  requireChecksum(call, "pemCrc32c", pemCrc32c, Buffer.from(pem, "utf8"));
  return {
    name: keyVersion,
    publicKey: decodedAnswer(`${call}: pem`, () => spkiToJwk(pem)),
    notes: [`protection level ${isWord(protectionLevel) ? protectionLevel : "unknown"}`],
  };
}

/** The 64 bytes r‖s in an AsymmetricSign answer, if every member that the service promises is present and correct. */
export function readSignature(answer: GcpKmsSignResponse, keyVersion: string): Uint8Array {
  const call = `AsymmetricSign with ${keyVersion}`;
  const { name, signature, signatureCrc32c, verifiedDigestCrc32c } = members(call, answer);
  if (!isUint8Array(signature) || signature.length === 0) throw incompleteAnswer(call, "signature");
  requireName(call, name, keyVersion);
  requireVerifiedDigest(call, verifiedDigestCrc32c);
  requireChecksum(call, "signatureCrc32c", signatureCrc32c, signature);
  return decodedAnswer(`${call}: signature`, () => ecdsaDerToRaw(signature));
}

function members<Answer extends object>(call: string, answer: Answer): { readonly [Name in keyof Answer]: unknown } {
  if (typeof answer !== "object" || answer === null) throw incompleteAnswer(call, "any member");
  return answer;
}

/** Whether this is a value of one of the API's enums. A client that does not know its name returns the number. */
export function isWord(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** The error for a version with another algorithm. */
export function algorithmError(call: string, algorithm: unknown, keyVersion: string): SignerError | undefined {
  if (algorithm === ALGORITHM) return undefined;
  if (!isWord(algorithm)) return incompleteAnswer(call, "algorithm");
  return new SignerError("unsupported_key", `${keyVersion} has the algorithm ${algorithm}, expected ${ALGORITHM}`);
}

function requireName(call: string, name: unknown, keyVersion: string): void {
  if (name === keyVersion) return;
  if (typeof name !== "string" || name === "") throw incompleteAnswer(call, "name");
  if (!isKeyVersionName(name)) throw damaged(call, "its name is not the name of a version");
  const hint = namesProjectOtherwise(name, keyVersion) ? "; name the project as the service does: by its id" : "";
  throw new SignerError("wrong_key", `asked for ${keyVersion}, but the service answered for ${name}${hint}`);
}

/** With both transports the client reads a missing member as false, so only a bare answer shows the difference. */
function requireVerifiedDigest(call: string, verified: unknown): void {
  if (verified === true) return;
  if (verified === undefined || verified === null) throw incompleteAnswer(call, "verifiedDigestCrc32c");
  throw damaged(call, "the service did not receive the digest's checksum, although it was sent");
}

function requireChecksum(call: string, member: string, checksum: unknown, bytes: Uint8Array): void {
  // The value may be an object that prints the number.
  const value = memberOf(checksum, "value") as GcpKmsChecksum["value"];
  if (value === undefined || value === null) throw incompleteAnswer(call, member);
  // Zero is a valid checksum. "" and "0x0" are not.
  if (!/^\d{1,10}$/.test(String(value)) || Number(value) !== checksumOf(bytes)) {
    throw damaged(call, `${member} does not match`);
  }
}

/** Transient, because the next answer may arrive undamaged. */
function damaged(call: string, what: string): SignerError {
  return new SignerError("integrity", `${call}: the answer was damaged in transit: ${what}`, { transient: true });
}
