/**
 * Whether `hostname` names this machine, so that plain HTTP to it never leaves the machine.
 * It is the `hostname` of a WHATWG `URL`, where every spelling of an IPv4 address is already dotted decimal and an IPv6
 * address stands in brackets.
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
