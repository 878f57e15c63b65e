import type { LookupAddress, LookupOptions } from "node:dns";
import { memberOf } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import type { AddressRules } from "./address.ts";
import { parseAddress } from "./ip-network.ts";

/** `dns.lookup` with `all: true`, the only form that is called. An answer of one address and its family is accepted too. */
export type LookupLike = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The same with a promise, like `dns.promises.lookup`. */
export type PromisedLookup = (hostname: string) => Promise<LookupAddress[]>;

/** net.connect's `lookup`. */
type NetLookup = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/**
 * Resolves with `lookup`, and fails if one address is not allowed. The callback is called exactly once, whatever `lookup` does. An
 * exception in a callback of the resolver would end the process.
 */
export function guardedLookup({ isAllowed }: AddressRules, lookup: LookupLike | PromisedLookup): NetLookup {
  return (hostname, options, callback) => {
    let isDone = false;
    const done = (error: Error | null, addresses: LookupAddress[] = []): void => {
      if (isDone) return;
      isDone = true;
      const [first] = addresses;
      if (error !== null || first === undefined) callback(error ?? refusedAddress(), []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    };
    const fail = (error: unknown): void =>
      done(error instanceof Error ? error : new Error("the lookup failed", { cause: error }));
    // A lookup of another shape may answer with other types.
    const answered = (error: unknown, answer: unknown): void => {
      if (error !== null && error !== undefined) {
        fail(error);
        return;
      }
      let addresses: LookupAddress[];
      try {
        addresses = readAnswer(answer);
      } catch (thrown) {
        fail(thrown);
        return;
      }
      // One private address among public ones is an attack or a mistake, and the socket could connect to any of them.
      const isRefused = addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address));
      done(isRefused ? refusedAddress() : null, addresses);
    };
    try {
      const returned: unknown = lookup(hostname, { ...options, all: true }, answered);
      // An async function that rejects would end the process. One that resolves, like `dns.promises.lookup`, has answered. Any other
      // return value, such as the request object of `dns.lookup`, is not an answer.
      if (typeof memberOf(returned, "then") === "function") {
        Promise.resolve(returned).then((answer) => answer === undefined || answered(null, answer), fail);
      }
    } catch (error) {
      fail(error);
    }
  };
}

/** The addresses of an answer, in every form of `dns.lookup`. Empty if one of them is not an address. */
function readAnswer(answer: unknown): LookupAddress[] {
  const list: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  const addresses = list.map((one) => {
    const address: unknown = typeof one === "string" ? one : (Object(one) as Partial<LookupAddress>).address;
    const bytes = typeof address === "string" ? parseAddress(address) : undefined;
    return typeof address === "string" && bytes !== undefined ? { address, family: familyOf(address) } : undefined;
  });
  return addresses.every((address) => address !== undefined) ? addresses : [];
}

function familyOf(address: string): 4 | 6 {
  return address.includes(":") ? 6 : 4;
}

export function refusedAddress(): KeySetError {
  return new KeySetError("address_refused", "the address of the host is not public");
}
