/** V8 keeps so few bytes in the array itself. To read `buffer` moves them out, which takes longer than a copy. */
const MAX_ON_HEAP = 64;

/**
 * Base64url without padding (RFC 7515 section 2, RFC 4648 section 5).
 *
 * @example
 * ```ts
 * import { encodeBase64url } from "@signpost/core/adapter";
 *
 * const text = encodeBase64url(new Uint8Array([1, 2, 3])); // "AQID"
 * ```
 */
export function encodeBase64url(bytes: Uint8Array): string {
  if (bytes.byteLength <= MAX_ON_HEAP) return Buffer.from(bytes).toString("base64url");
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64url");
}

/**
 * The bytes of an unpadded base64url text, or undefined if `text` is not canonical. Padding, the standard alphabet, line
 * breaks, other characters, a lone last character and nonzero trailing bits are all refused. Node's decoder accepts all
 * of these.
 *
 * @example
 * ```ts
 * import { decodeBase64url } from "@signpost/core/adapter";
 *
 * const bytes = decodeBase64url("AQID"); // three bytes
 * const padded = decodeBase64url("AQI="); // undefined
 * ```
 */
export function decodeBase64url(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? new Uint8Array(bytes) : undefined;
}
