/**
 * Node's names for what OpenSSL refuses in a certificate or a revocation list, and the beginnings of its other codes for TLS.
 * For a refusal without a name, such as an unknown critical extension, Node says UNSPECIFIED. Without ERR_OSSL, which can also
 * be about a key in a file.
 */
const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_C(?:ERT|RL)_|(?:HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|UNSPECIFIED)$)/;

/**
 * Whether the `code` of an error says that TLS made no connection: a certificate was refused, or the two sides agree on no
 * version or cipher.
 *
 * @example
 * ```ts
 * import { isTlsCode, memberOf } from "@signpost/core/adapter";
 *
 * export const isUntrusted = (error: unknown): boolean => isTlsCode(memberOf(error, "code"));
 * ```
 */
export function isTlsCode(code: unknown): boolean {
  return typeof code === "string" && TLS_CODE.test(code);
}
