/**
 * Whether `hostname` is this machine, so that plain HTTP to it never leaves the machine. Pass the `hostname` of a WHATWG
 * `URL`: it normalizes IPv4 addresses to dotted decimal, and puts IPv6 addresses in brackets.
 *
 * @example
 * ```ts
 * import { isLoopbackHost } from "@signpost/core/adapter";
 *
 * const local = isLoopbackHost(new URL("http://127.0.0.1:4566").hostname);
 * ```
 */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
