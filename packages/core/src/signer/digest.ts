import { SignerError } from "../errors.ts";

/** A copy of a SHA-256 digest: the caller may use its buffer again while the call waits. */
export function copiedDigest(digest: unknown): Uint8Array {
  if (digest instanceof Uint8Array && digest.length === 32) return new Uint8Array(digest);
  throw new SignerError("invalid_argument", "digest: expected a Uint8Array of 32 bytes (a SHA-256 digest)");
}
