import { isUint8Array } from "node:util/types";
import crc32c from "crc-32/crc32c.js";
import { ecdsaDerToRaw, type P256PublicJwk, SignerError, spkiToJwk } from "@signpost/core";
import type { GcpKmsChecksum, GcpKmsPublicKeyResponse, GcpKmsSignResponse } from "./api.ts";
import { isKeyVersionName, namesProjectOtherwise } from "./uri.ts";

// End-to-end integrity as the service offers it: https://cloud.google.com/kms/docs/data-integrity-guidelines

const ALGORITHM = "EC_SIGN_P256_SHA256";

/** CRC32C (RFC 3720 appendix B.4) as an unsigned number. */
export function checksumOf(bytes: Uint8Array): number {
  return crc32c.buf(bytes) >>> 0;
}

/** The 64 bytes r‖s of an answer in which everything that the service promises is there and right. */
export function checkedSignature(response: GcpKmsSignResponse, keyVersion: string): Uint8Array {
  const signature = bytesOf(response.signature);
  if (signature === undefined) throw incomplete("signature");
  requireName(response.name, keyVersion);
  requireVerifiedDigest(response.verifiedDigestCrc32c);
  requireChecksum("signatureCrc32c", response.signatureCrc32c, signature);
  try {
    return ecdsaDerToRaw(signature);
  } catch (cause) {
    throw new SignerError("bad_signature", "the service's signature is not DER of r and s in range", { cause });
  }
}

/** The public key of an answer that is whole, about this version, and of the one algorithm that signs ES256. */
export function checkedPublicKey(response: GcpKmsPublicKeyResponse, keyVersion: string): P256PublicJwk {
  requireName(response.name, keyVersion);
  const refusal = algorithmError(response.algorithm, keyVersion);
  if (refusal !== undefined) throw refusal;
  const { pem } = response;
  if (pem === undefined || pem === null || pem === "") throw incomplete("pem");
  requireChecksum("pemCrc32c", response.pemCrc32c, Buffer.from(pem, "utf8"));
  try {
    return spkiToJwk(pem);
  } catch (cause) {
    throw new SignerError("unsupported_key", `the PEM of ${keyVersion} is not that of a P-256 key`, { cause });
  }
}

/** What is wrong with the algorithm of a version, if anything is. */
export function algorithmError(
  algorithm: string | number | null | undefined,
  keyVersion: string,
): SignerError | undefined {
  if (algorithm === ALGORITHM) return undefined;
  if (algorithm === undefined || algorithm === null) return incomplete("algorithm");
  return new SignerError("unsupported_key", `${keyVersion} has the algorithm ${algorithm}, expected ${ALGORITHM}`);
}

function requireName(name: string | null | undefined, keyVersion: string): void {
  if (name === keyVersion) return;
  if (name === undefined || name === null || name === "") throw incomplete("name");
  if (!isKeyVersionName(name)) throw damaged("the name in the answer is no name of a version");
  const hint = namesProjectOtherwise(name, keyVersion) ? "; name the project as the service does" : "";
  throw new SignerError("wrong_key", `asked for ${keyVersion}, the service answered for ${name}${hint}`);
}

/** Over both transports the client reads an absent member as false, so that only a bare answer shows the difference. */
function requireVerifiedDigest(verified: boolean | null | undefined): void {
  if (verified === true) return;
  if (verified === undefined || verified === null) throw incomplete("verifiedDigestCrc32c");
  throw damaged("the service did not receive the digest's checksum, which was sent");
}

function requireChecksum(member: string, checksum: GcpKmsChecksum | null | undefined, bytes: Uint8Array): void {
  const value = checksum?.value;
  if (value === undefined || value === null) throw incomplete(member);
  // Zero is a checksum like any other; "" and "0x0" are none.
  if (!/^\d{1,10}$/.test(String(value)) || Number(value) !== checksumOf(bytes)) {
    throw damaged(`${member} does not match`);
  }
}

function bytesOf(value: Uint8Array | string | null | undefined): Uint8Array | undefined {
  return isUint8Array(value) && value.length > 0 ? value : undefined;
}

/** What was changed on its way may be whole the next time. */
function damaged(what: string): SignerError {
  return new SignerError("integrity", `the answer of Cloud KMS was damaged on its way: ${what}`, { transient: true });
}

/** An answer without its checks is not corruption: whatever answers there does not keep the protocol. */
function incomplete(member: string): SignerError {
  return new SignerError("integrity", `the answer of Cloud KMS lacks ${member}`);
}
