// RFC 3986 section 3.1.
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/** The scheme of a URI in lower case, without the colon. Undefined if there is none. */
export function schemeOf(uri: unknown): string | undefined {
  return typeof uri === "string" ? SCHEME.exec(uri)?.[1]?.toLowerCase() : undefined;
}

/**
 * The part of a URI after the scheme and colon, unchanged. Undefined if the URI has another scheme. Case does not matter
 * in a scheme (RFC 3986 section 3.1).
 *
 * @example
 * ```ts
 * import { afterScheme } from "@signpost/core/adapter";
 *
 * const path = afterScheme("Local:keys/OP.pem", "local"); // "keys/OP.pem"
 * ```
 */
export function afterScheme(uri: unknown, scheme: string): string | undefined {
  return typeof uri === "string" && schemeOf(uri) === scheme.toLowerCase() ? uri.slice(scheme.length + 1) : undefined;
}
