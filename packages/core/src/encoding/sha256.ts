import { hash } from "node:crypto";

const DIGEST_BYTES = 32;

/** The SHA-256 digest. Node returns it faster as a text of 32 characters than as a Buffer, and leaves less to collect. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const text = hash("sha256", bytes, "binary");
  const digest = new Uint8Array(DIGEST_BYTES);
  for (let index = 0; index < DIGEST_BYTES; index += 1) digest[index] = text.charCodeAt(index);
  return digest;
}
