import type { Handle } from "../cryptoki/binding.ts";
import { cryptoki, CryptokiError } from "../cryptoki/call.ts";
import { CKM_ECDSA, CKR_OBJECT_HANDLE_INVALID } from "../cryptoki/constants.ts";
import type { CryptokiSession } from "../cryptoki/objects.ts";
import { SignatureError } from "./failure.ts";

const SIGNATURE_LENGTH = 64;

/** C_SignInit. `key` is undefined when the session does not know it. */
export function startSignature({ binding, handle }: CryptokiSession, key: Handle | undefined): void {
  if (key === undefined) throw new CryptokiError("C_SignInit", CKR_OBJECT_HANDLE_INVALID);
  cryptoki("C_SignInit", () => binding.C_SignInit(handle, { mechanism: CKM_ECDSA }, key));
}

/** C_Sign, with a copy of the digest and memory of this call alone. */
export function finishSignature({ binding, handle }: CryptokiSession, digest: Uint8Array): Uint8Array {
  const output = Buffer.alloc(SIGNATURE_LENGTH);
  const signature = cryptoki("C_Sign", () => binding.C_Sign(handle, Buffer.from(digest), output));
  if (signature.length !== SIGNATURE_LENGTH) {
    throw new SignatureError(`C_Sign: expected a signature of ${SIGNATURE_LENGTH} bytes, got ${signature.length}`);
  }
  return signature;
}
