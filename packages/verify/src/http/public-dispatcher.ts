import type { LookupAddress, LookupOptions } from "node:dns";
import { createRequire } from "node:module";
import type { Dispatcher } from "undici";
import { KeySetError } from "../errors.ts";
import type { AddressRules } from "./address.ts";
import { addressRules, familyOf } from "./address.ts";

type Undici = Pick<typeof import("undici"), "Agent" | "buildConnector">;

/** `dns.lookup` in the one form that is used: all addresses. */
export type LookupLike = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface PublicDispatcherOptions {
  /** Networks that are allowed although they are not public, in CIDR notation. Default none. */
  readonly allowSubnets?: readonly string[] | undefined;
  /** Certificate authorities to trust instead of Node's, PEM. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  /** Default `dns.lookup`. */
  readonly lookup?: LookupLike | undefined;
}

/**
 * An undici dispatcher for URLs that somebody else chose. The address is judged where the socket connects:
 * what was resolved is what is connected to, so a name that resolves differently the second time (DNS
 * rebinding) gains nothing. Rejects with `KeySetError` `address_refused`, wrapped by `fetch`.
 *
 * ```ts
 * import { createPublicDispatcher, createRemoteKeySet } from "@signpost/verify";
 *
 * const dispatcher = createPublicDispatcher({ allowSubnets: ["10.20.0.0/16"] });
 * export const keySet = createRemoteKeySet("https://rp.example/jwks", { dispatcher });
 * ```
 */
export function createPublicDispatcher(options: PublicDispatcherOptions = {}): Dispatcher {
  // `import` is not for a function that answers at once, and undici is CommonJS: this is the one that `import` gives.
  return publicDispatcher(createRequire(import.meta.url)("undici") as Undici, options);
}

/** The dispatcher, made of an undici that is loaded. */
export function publicDispatcher({ Agent, buildConnector }: Undici, options: PublicDispatcherOptions = {}): Dispatcher {
  const rules = addressRules(options.allowSubnets);
  const connect = buildConnector({
    lookup: guardedLookup(rules, options.lookup ?? process.getBuiltinModule("node:dns").lookup),
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
function authorities(ca: NonNullable<PublicDispatcherOptions["ca"]>): (string | Buffer)[] {
  const list = typeof ca === "string" || ca instanceof Uint8Array ? [ca] : ca;
  return list.map((one) => (typeof one === "string" ? one : Buffer.from(one)));
}

function refused(): KeySetError {
  return new KeySetError("address_refused", "the host is at an address that is not public");
}
