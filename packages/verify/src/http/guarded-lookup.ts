import type { LookupAddress, LookupOptions } from "node:dns";
import { memberOf } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import type { AddressRules } from "./address.ts";
import { parseAddress } from "./ip-network.ts";

/** `dns.lookup` in the one form that is used: all addresses. One address and its family are understood as well. */
export type LookupLike = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The same by a promise, as `dns.promises.lookup`. */
export type PromisedLookup = (hostname: string) => Promise<LookupAddress[]>;

/** net.connect's `lookup`. */
type NetLookup = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/**
 * Resolves by `lookup` and gives up when one address is not allowed. Whatever `lookup` does ends in one call of the callback: an
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
    // What a lookup of another shape answers is not what its type says.
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
      // One private address among public ones is an attack or a mistake; connecting would be a race between them.
      const isRefused = addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address));
      done(isRefused ? refusedAddress() : null, addresses);
    };
    try {
      const returned: unknown = lookup(hostname, { ...options, all: true }, answered);
      // An async function that rejects would end the process, and one that resolves, as `dns.promises.lookup`, has answered.
      // What else is returned, such as the request of `dns.lookup`, is no answer.
      if (typeof memberOf(returned, "then") === "function") {
        Promise.resolve(returned).then((answer) => answer === undefined || answered(null, answer), fail);
      }
    } catch (error) {
      fail(error);
    }
  };
}

/** The addresses of an answer, in each form that `dns.lookup` has. None where one of them is no address. */
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
  return new KeySetError("address_refused", "the host is at an address that is not public");
}
