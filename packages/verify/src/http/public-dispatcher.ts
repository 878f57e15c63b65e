import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, memberOf, readCallback } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { Agent, Dispatcher } from "undici";
import { KeySetError } from "../errors.ts";
import { readTexts } from "../read-options.ts";
import type { AddressRules } from "./address.ts";
import { addressRules } from "./address.ts";
import { attemptTimeoutMs } from "./attempt-timeout.ts";
import { createDnsLookup } from "./dns-lookup.ts";
import { withGuardProof } from "./guard-proof.ts";
import type { LookupLike, PromisedLookup } from "./guarded-lookup.ts";
import { guardedLookup, refusedAddress } from "./guarded-lookup.ts";
import { parseAddress } from "./ip-network.ts";

type Undici = Pick<typeof import("undici"), "Agent" | "buildConnector" | "fetch">;

/** Options of `createPublicDispatcher`. */
export interface PublicDispatcherOptions {
  /** Private networks to allow, in CIDR notation such as `10.1.0.0/16`. Default none. */
  readonly allowSubnets?: readonly string[] | undefined;
  /**
   * Your network's own NAT64 prefixes (RFC 6052), such as `2001:db8:64::/96`: 32, 40, 48, 56, 64 or 96 bits. The IPv4 address in
   * such an address is checked, and `allowSubnets` applies to it. `64:ff9b::/96` is always known. Default none.
   */
  readonly nat64Prefixes?: readonly string[] | undefined;
  /** Certificate authorities to trust instead of Node's, PEM. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /**
   * Resolves hosts. The default queries the system's DNS servers, so a name whose servers never answer does not block other lookups
   * of the process. With `allowSubnets`, the default is `dns.lookup`, which also knows hosts files and search domains.
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
 * An undici dispatcher for URLs that another party chose. The address is checked when the socket connects, so a name that
 * resolves differently the second time (DNS rebinding) does not get past it. A refused address is a `KeySetError`
 * `address_refused`, which `fetch` wraps.
 *
 * @throws ConfigurationError for an option that cannot work, and if undici cannot be found; KeySetError `guard_unavailable` on a
 * runtime whose own undici ignores dispatchers (Bun). There, use `publicAddressesOnly`.
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
  // A set proves the guard before its first request. The caller's own `fetch` does not. Where `import "undici"` is a module of the
  // runtime, as on Bun, its Agent cannot dispatch, and its `fetch` would silently ignore any dispatcher.
  if (typeof (dispatcher as Partial<Dispatcher>).dispatch !== "function") {
    throw new KeySetError(
      "guard_unavailable",
      "the undici of this runtime ignores dispatchers, so your own fetch would reach private addresses; use publicAddressesOnly",
    );
  }
  return dispatcher;
}

/** A synchronous function cannot `import`. undici is CommonJS, so this is the same module that `import` returns. */
function requireUndici(): Undici {
  // webpack replaces an imported `createRequire` by `undefined`.
  const { createRequire } = process.getBuiltinModule("node:module");
  let cause: unknown;
  for (const place of places()) {
    try {
      return createRequire(place)("undici") as Undici;
    } catch (error) {
      if (memberOf(error, "code") !== "MODULE_NOT_FOUND") throw error;
      cause ??= error;
    }
  }
  const problem = "could not be loaded: install the package undici, and exclude it from your bundle (external)";
  throw new ConfigurationError("undici", problem, { cause });
}

/**
 * Where to look for it. A CommonJS bundle has no URL, and in one of webpack it is that of the source, where the bundle was made. The
 * program that was started may be another file, as on AWS Lambda.
 */
function places(): readonly string[] {
  const url: string | undefined = import.meta.url;
  const file = typeof __filename === "string" ? __filename : undefined;
  return [url, file, process.argv[1] ?? `${process.cwd()}/`].filter((place) => place !== undefined);
}

/** The dispatcher, from an undici that is already loaded. */
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
  // The probe uses no options of the caller: it only shows whether the guard is called at all.
  return withGuardProof(dispatcher, undici.fetch, () => guardedAgent(undici, addressRules(), probeLookup));
}

/** Names of a private network may be in a hosts file, or need its search domains. Public names are in the DNS. */
function defaultLookup(allowSubnets: readonly string[]): LookupLike | PromisedLookup {
  return allowSubnets.length === 0 ? createDnsLookup() : process.getBuiltinModule("node:dns").lookup;
}

const probeLookup: LookupLike = (_hostname, _options, callback) =>
  callback(null, [{ address: "127.0.0.1", family: 4 }]);

/**
 * How long a connection may be idle. A server may ask for ten minutes, and an OP with thousands of clients would have thousands of
 * connections open.
 */
const MAX_IDLE_MS = 4000;

function guardedAgent(
  { Agent, buildConnector }: Undici,
  rules: AddressRules,
  lookup: LookupLike | PromisedLookup,
  tls: { readonly ca?: (string | Buffer)[] } = {},
): Dispatcher {
  const connect = buildConnector({
    lookup: guardedLookup(rules, lookup),
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs(),
    ...tls,
  });
  const options: Agent.Options = {
    keepAliveMaxTimeout: MAX_IDLE_MS,
    connect(target, callback) {
      // A literal address is not looked up.
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
        // The address of the socket decides. A socket that the other side has already reset has no address.
        const { remoteAddress } = socket;
        if (remoteAddress !== undefined && rules.isAllowed(remoteAddress)) {
          callback(null, socket);
          return;
        }
        socket.destroy();
        callback(remoteAddress === undefined ? resetConnection() : refusedAddress(), null);
      });
    },
  };
  return withNewConnections(new Agent(options), new Agent(options));
}

/**
 * Sends requests with `Connection: close` over `single`, where no connection is idle, because none is kept. Over `kept`, such a
 * request would take an idle connection, which may be dead.
 */
function withNewConnections(kept: Dispatcher, single: Dispatcher): Dispatcher {
  // The undici of Bun has no such function, and cannot dispatch either.
  const { compose }: Partial<Dispatcher> = kept;
  if (compose === undefined) return kept;
  return kept.compose((dispatch) => (options, handler) => {
    const { connection }: { readonly connection?: unknown } = Object(options.headers);
    return connection === "close" ? single.dispatch(options, handler) : dispatch(options, handler);
  });
}

/** The error that Node reports if it notices the reset later. */
function resetConnection(): Error {
  return Object.assign(new Error("the connection was reset"), { code: "ECONNRESET" });
}

/**
 * In the form that node:tls takes. It ignores any text that is not PEM, such as the path of a file, and would then trust no
 * certificate at all.
 */
function authorities(ca: unknown): (string | Buffer)[] {
  const list: readonly unknown[] = Array.isArray(ca) ? ca : [ca];
  const refusal = (found: string): ConfigurationError =>
    new ConfigurationError("ca", `expected certificates in PEM, as text or bytes, got ${found}`);
  if (list.length === 0) throw refusal("an empty list");
  return list.map((one) => {
    const pem = one instanceof Uint8Array ? Buffer.from(one) : one;
    if (typeof pem !== "string" && !Buffer.isBuffer(pem)) throw refusal(given(one));
    if (!pem.includes("-----BEGIN ")) throw refusal(`${given(one)} without "-----BEGIN "`);
    return pem;
  });
}
