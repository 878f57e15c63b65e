import type { LookupAddress } from "node:dns";
import { isLoopbackHost } from "@signpost/core/adapter";
import type { PromisedLookup } from "./guarded-lookup.ts";

/** Time for a server's first answer. The second try waits longer. */
const TIMEOUT_MS = 1000;
const TRIES = 2;

/**
 * Queries the system's DNS servers, without the hosts file. `dns.lookup` runs on libuv's threads, two at a time, so two names whose
 * servers never answer would block every lookup of the process, even that of a KMS. Here a slow name delays only itself.
 *
 * `servers` replaces the system's servers.
 */
export function createDnsLookup(servers?: readonly string[]): PromisedLookup {
  return async (hostname) => {
    // RFC 6761 section 6.3: this name is not sent to a server.
    if (isLoopbackHost(hostname)) return [{ address: "127.0.0.1", family: 4 }];
    // A new resolver each time, because a machine's servers change.
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
