import type { LookupAddress } from "node:dns";
import { isLoopbackHost, memberOf } from "@signpost/core/adapter";
import type { PromisedLookup } from "./guarded-lookup.ts";

/** Time for a server's first answer. The second try waits longer. */
const TIMEOUT_MS = 1000;
const TRIES = 2;

/**
 * How long to wait for one address family after the other was found: enough for one lost packet. Some servers never answer for
 * IPv6, and trying two of them takes longer than a fetch may.
 */
export const OTHER_FAMILY_MS = 1500;

/** Codes of an answer without addresses. */
const NOTHING: ReadonlySet<unknown> = new Set(["ENODATA", "ENOTFOUND"]);

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
    const found: [ipv4: LookupAddress[], ipv6: LookupAddress[]] = [[], []];
    const asked = [
      resolver.resolve4(hostname).then((answer) => void (found[0] = addressesOf(answer, 4))),
      resolver.resolve6(hostname).then((answer) => void (found[1] = addressesOf(answer, 6))),
    ];
    await Promise.any(asked).catch((error: AggregateError) => {
      throw mostTelling(error.errors);
    });
    await atMost(OTHER_FAMILY_MS, Promise.allSettled(asked));
    return found.flat();
  };
}

function addressesOf(answer: readonly string[], family: 4 | 6): LookupAddress[] {
  return answer.map((address) => ({ address, family }));
}

/** A server that did not answer is the better reason than one without addresses. */
function mostTelling(errors: readonly unknown[]): unknown {
  const error = errors.find((one) => !NOTHING.has(memberOf(one, "code"))) ?? errors[0];
  // For a DNS server that cannot be reached. It would read as if the host had refused, so it gets the code of `dns.lookup`.
  if (memberOf(error, "code") !== "ECONNREFUSED") return error;
  return Object.assign(new Error("the DNS server refused the query"), { code: "EAI_AGAIN" });
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, over]);
  clearTimeout(timer);
}
