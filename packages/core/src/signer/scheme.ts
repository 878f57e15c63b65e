// RFC 3986 section 3.1.
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/** The scheme of a URI in lower case, without its colon. Undefined when it has none. */
export function schemeOf(uri: unknown): string | undefined {
  return typeof uri === "string" ? SCHEME.exec(uri)?.[1]?.toLowerCase() : undefined;
}

/**
 * What a URI says behind its scheme and colon, byte for byte. Undefined when it has another scheme. Schemes are the same in
 * upper and lower case (RFC 3986 section 3.1).
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
