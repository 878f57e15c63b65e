import type { LookupAddress, LookupOptions } from "node:dns";
import { createRequire } from "node:module";
import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, readCallback } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { Dispatcher } from "undici";
import { KeySetError } from "../errors.ts";
import { readTexts } from "../read-options.ts";
import type { AddressRules } from "./address.ts";
import { addressRules, familyOf } from "./address.ts";

type Undici = Pick<typeof import("undici"), "Agent" | "buildConnector">;

/** `dns.lookup` in the one form that is used: all addresses. */
export type LookupLike = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Options of `createPublicDispatcher`. */
export interface PublicDispatcherOptions {
  /** Networks that are allowed although they are not public, in CIDR notation such as `10.1.0.0/16`. Default none. */
  readonly allowSubnets?: readonly string[] | undefined;
  /** Certificate authorities to trust instead of Node's, PEM. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /** Resolves hosts. Default `dns.lookup`. */
  readonly lookup?: LookupLike | undefined;
}

const PUBLIC_DISPATCHER_OPTIONS: OptionNames<PublicDispatcherOptions> = { allowSubnets: true, ca: true, lookup: true };

/**
 * An undici dispatcher for URLs that somebody else chose. The address is judged where the socket connects:
 * what was resolved is what is connected to, so a name that resolves differently the second time (DNS
 * rebinding) gains nothing. A refused address is a `KeySetError` `address_refused`, which `fetch` wraps.
 *
 * @throws ConfigurationError for an option that cannot work.
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
  // `import` is not for a function that answers at once, and undici is CommonJS: this is the one that `import` gives.
  return publicDispatcher(createRequire(import.meta.url)("undici") as Undici, options);
}

/** The dispatcher, made of an undici that is loaded. */
export function publicDispatcher({ Agent, buildConnector }: Undici, options: PublicDispatcherOptions = {}): Dispatcher {
  const { allowSubnets = [] } = options;
  const rules = addressRules(readTexts("allowSubnets", allowSubnets));
  const lookup = readCallback("lookup", options.lookup);
  const connect = buildConnector({
    lookup: guardedLookup(rules, lookup ?? process.getBuiltinModule("node:dns").lookup),
    ...(options.ca === undefined ? {} : { ca: authorities(options.ca) }),
  });
  return new Agent({
    connect(target, callback) {
      // A literal address is connected to without a lookup.
      const literal = target.hostname.replace(/^\[|\]$/g, "");
      if (familyOf(literal) !== undefined && !rules.isAllowed(literal)) {
        callback(refused(), null);
        return;
      }
      connect(target, (...[error, socket]) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        // The last word has the socket itself.
        if (!rules.isAllowed(socket.remoteAddress ?? "")) {
          socket.destroy();
          callback(refused(), null);
          return;
        }
        callback(null, socket);
      });
    },
  });
}

/** net.connect's `lookup`: resolves like the system and gives up when one address is not allowed. */
function guardedLookup(
  rules: AddressRules,
  lookup: LookupLike,
): (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const [first] = addresses;
      // One private address among public ones is an attack or a mistake; connecting would be a race between them.
      if (first === undefined || !addresses.every(({ address }) => rules.isAllowed(address))) {
        callback(refused(), []);
        return;
      }
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
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

function refused(): KeySetError {
  return new KeySetError("address_refused", "the host is at an address that is not public");
}
