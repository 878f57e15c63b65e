import type { LookupAddress } from "node:dns";
import { isLoopbackHost } from "@signpost/core/adapter";
import type { PromisedLookup } from "./guarded-lookup.ts";

/** For the first answer of a server. The second try waits for longer. */
const TIMEOUT_MS = 1000;
const TRIES = 2;

/**
 * Asks the system's DNS servers, and no hosts file. `dns.lookup` asks on threads of libuv, two of which do so at once: two names
 * whose servers never answer hold up every lookup of the process, that of a KMS included. Here a name holds up itself alone.
 *
 * `servers` are others than the system's.
 */
export function createDnsLookup(servers?: readonly string[]): PromisedLookup {
  return async (hostname) => {
    // RFC 6761 section 6.3: no server is asked for it.
    if (isLoopbackHost(hostname)) return [{ address: "127.0.0.1", family: 4 }];
    // A new one each time: the servers of a machine change.
    const resolver = new (process.getBuiltinModule("node:dns").promises.Resolver)({
      timeout: TIMEOUT_MS,
      tries: TRIES,
    });
    if (servers !== undefined) resolver.setServers(servers);
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
    return [...addressesOf(ipv4, 4), ...addressesOf(ipv6, 6)];
  };
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family })) : [];
}
