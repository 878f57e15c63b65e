import { EncodingError, SignerError } from "../errors.ts";

/**
 * The error for an answer with a missing member: `integrity`, and transient, because a proxy that cuts off one answer may
 * pass the next one.
 *
 * @example
 * ```ts
 * import { incompleteAnswer } from "@signpost/core/adapter";
 *
 * export function requireSignature(signature: Uint8Array | undefined): Uint8Array {
 *   if (signature === undefined) throw incompleteAnswer("kms:Sign", "Signature");
 *   return signature;
 * }
 * ```
 */
export function incompleteAnswer(operation: string, member: string): SignerError {
  return new SignerError("integrity", `${operation} was answered without ${member}`, { transient: true });
}

/**
 * Decodes a member of an answer. Malformed bytes become `integrity`, r or s out of range becomes `bad_signature`, and a
 * key of another type or curve becomes `unsupported_key`.
 *
 * @throws SignerError `integrity`, `bad_signature`, `unsupported_key`.
 * @example
 * ```ts
 * import { ecdsaDerToRaw } from "@signpost/core";
 * import { decodedAnswer } from "@signpost/core/adapter";
 *
 * export const rawSignature = (der: Uint8Array): Uint8Array => decodedAnswer("Signature", () => ecdsaDerToRaw(der));
 * ```
 */
export function decodedAnswer<Value>(member: string, decode: () => Value): Value {
  try {
    return decode();
  } catch (cause) {
    if (!(cause instanceof EncodingError)) throw cause;
    throw new SignerError(CODES[cause.code], `${member}: ${cause.message}`, { cause });
  }
}

const CODES = {
  invalid_der: "integrity",
  invalid_spki: "integrity",
  invalid_point: "integrity",
  invalid_jwk: "integrity",
  invalid_signature: "bad_signature",
  unsupported_key: "unsupported_key",
  weak_key: "unsupported_key",
} as const;
