import { createRequire } from "node:module";
import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, memberOf, readCallback } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { Dispatcher } from "undici";
import { readTexts } from "../read-options.ts";
import type { AddressRules } from "./address.ts";
import { addressRules } from "./address.ts";
import { createDnsLookup } from "./dns-lookup.ts";
import { guardUnavailable, withGuardProof } from "./guard-proof.ts";
import type { LookupLike, PromisedLookup } from "./guarded-lookup.ts";
import { guardedLookup, refusedAddress } from "./guarded-lookup.ts";
import { parseAddress } from "./ip-network.ts";

type Undici = Pick<typeof import("undici"), "Agent" | "buildConnector" | "fetch">;

/** Options of `createPublicDispatcher`. */
export interface PublicDispatcherOptions {
  /** Networks that are allowed although they are not public, in CIDR notation such as `10.1.0.0/16`. Default none. */
  readonly allowSubnets?: readonly string[] | undefined;
  /**
   * The network's own NAT64 prefixes (RFC 6052), such as `2001:db8:64::/96`: 32, 40, 48, 56, 64 or 96 bits. The IPv4 address in
   * such an address is judged, also by `allowSubnets`. `64:ff9b::/96` is always known. Default none.
   */
  readonly nat64Prefixes?: readonly string[] | undefined;
  /** Certificate authorities to trust instead of Node's, PEM. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /**
   * Resolves hosts. Default: asks the system's DNS servers, so that a name whose servers never answer holds up no other lookup of the
   * process; with `allowSubnets`, `dns.lookup`, which also knows hosts files and search domains.
   */
  readonly lookup?: LookupLike | undefined;
}

const PUBLIC_DISPATCHER_OPTIONS: OptionNames<PublicDispatcherOptions> = {
  allowSubnets: true,
  nat64Prefixes: true,
  ca: true,
  lookup: true,
};

/**
 * An undici dispatcher for URLs that another party chose. The address is judged where the socket connects:
 * what was resolved is what is connected to, so a name that resolves differently the second time (DNS
 * rebinding) gains nothing. A refused address is a `KeySetError` `address_refused`, which `fetch` wraps.
 *
 * @throws ConfigurationError for an option that cannot work, and where undici cannot be found; KeySetError `guard_unavailable` on a runtime whose undici makes no
 * connections through its dispatchers (Bun).
 * @example
 * ```ts
 * import { createPublicDispatcher, createRemoteKeySet } from "@signpost/verify";
 *
 * const dispatcher = createPublicDispatcher({ allowSubnets: ["10.20.0.0/16"] });
 * export const keySet = createRemoteKeySet("https://rp.example/jwks", { dispatcher });
 * ```
 */
export function createPublicDispatcher(options: PublicDispatcherOptions = {}): Dispatcher {
  assertOptions("options", options, PUBLIC_DISPATCHER_OPTIONS);
  const dispatcher = publicDispatcher(requireUndici(), options);
  // Sets prove the guard before their first request. The caller's own `fetch` does not: an Agent that cannot even dispatch, as
  // Bun's, would be passed over by it.
  if (typeof (dispatcher as Partial<Dispatcher>).dispatch !== "function") throw guardUnavailable();
  return dispatcher;
}

/** `import` is not for a function that answers at once, and undici is CommonJS: this is the one that `import` gives. */
function requireUndici(): Undici {
  // A bundle in CommonJS has no URL: packages are found from the program that was started.
  const from: string | undefined = import.meta.url ?? process.argv[1];
  try {
    return createRequire(from ?? process.cwd())("undici") as Undici;
  } catch (cause) {
    if (memberOf(cause, "code") !== "MODULE_NOT_FOUND") throw cause;
    const problem = "expected the package undici to be installed, and left out of a bundle (external)";
    throw new ConfigurationError("undici", problem, { cause });
  }
}

/** The dispatcher, made of an undici that is loaded. */
export function publicDispatcher(undici: Undici, options: PublicDispatcherOptions = {}): Dispatcher {
  const { allowSubnets = [], nat64Prefixes = [] } = options;
  const rules = addressRules({
    allowSubnets: readTexts("allowSubnets", allowSubnets),
    nat64Prefixes: readTexts("nat64Prefixes", nat64Prefixes),
  });
  const lookup = readCallback("lookup", options.lookup) ?? defaultLookup(allowSubnets);
  const dispatcher = guardedAgent(
    undici,
    rules,
    lookup,
    options.ca === undefined ? {} : { ca: authorities(options.ca) },
  );
  // What the caller allows is no part of the question whether the guard is asked at all.
  return withGuardProof(dispatcher, undici.fetch, () => guardedAgent(undici, addressRules(), probeLookup));
}

/** Names inside a network may be in a hosts file, or need its search domains. Public ones are in the DNS. */
function defaultLookup(allowSubnets: readonly string[]): LookupLike | PromisedLookup {
  return allowSubnets.length === 0 ? createDnsLookup() : process.getBuiltinModule("node:dns").lookup;
}

const probeLookup: LookupLike = (_hostname, _options, callback) =>
  callback(null, [{ address: "127.0.0.1", family: 4 }]);

function guardedAgent(
  { Agent, buildConnector }: Undici,
  rules: AddressRules,
  lookup: LookupLike | PromisedLookup,
  tls: { readonly ca?: (string | Buffer)[] } = {},
): Dispatcher {
  const connect = buildConnector({ lookup: guardedLookup(rules, lookup), ...tls });
  return new Agent({
    connect(target, callback) {
      // A literal address is connected to without a lookup.
      const literal = target.hostname.replace(/^\[|\]$/g, "");
      if (parseAddress(literal) !== undefined && !rules.isAllowed(literal)) {
        callback(refusedAddress(), null);
        return;
      }
      connect(target, (...[error, socket]) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        // The last word has the socket itself. One that the other side has reset by now is at no address any more.
        const { remoteAddress } = socket;
        if (remoteAddress !== undefined && rules.isAllowed(remoteAddress)) {
          callback(null, socket);
          return;
        }
        socket.destroy();
        callback(remoteAddress === undefined ? resetConnection() : refusedAddress(), null);
      });
    },
  });
}

/** As Node says it where the reset is found out later. */
function resetConnection(): Error {
  return Object.assign(new Error("the connection was reset"), { code: "ECONNRESET" });
}

/** As node:tls takes them. */
function authorities(ca: unknown): (string | Buffer)[] {
  const list: readonly unknown[] = Array.isArray(ca) ? ca : [ca];
  return list.map((one) => {
    if (one instanceof Uint8Array) return Buffer.from(one);
    if (typeof one === "string") return one;
    throw new ConfigurationError("ca", `expected certificates as text or bytes, got ${given(one)}`);
  });
}
