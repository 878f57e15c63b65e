import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import type { LookupLike } from "@signpost/verify";
import { hostOf } from "./host.ts";
import { isPrivateAddress } from "./private-address.ts";

/** The addresses of a host name. */
export type ResolveHost = (host: string) => Promise<readonly { readonly address: string }[]>;

const systemAddresses: ResolveHost = (host) => lookup(host, { all: true });

/** The private addresses of a URL's host. Those of this machine count too. */
export async function privateAddressesOf(
  url: URL,
  resolveHost: ResolveHost = systemAddresses,
): Promise<readonly LookupAddress[]> {
  // A name that is not found fails with the request, which says why.
  const found = await resolveHost(hostOf(url)).catch(() => []);
  return found
    .filter(({ address }) => isPrivateAddress(address))
    .map(({ address }) => ({ address, family: isIP(address) }));
}

/** The addresses of a host that were found before, and those of any other host as the system knows them. */
export function lookupWith(host: string, known: readonly LookupAddress[]): LookupLike {
  return (hostname, options, callback) => {
    if (hostname === host) callback(null, [...known]);
    else systemLookup(hostname, options, callback);
  };
}

/** A host that must be on the Internet is not. */
export class PrivateHostError extends Error {
  constructor() {
    super("the host has an address in a private network");
  }
}

/** The addresses of a host on the Internet. If one of them is private, there are none, so that no connection is opened. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, found) => {
    const isPrivate = error === null && found.some(({ address }) => isPrivateAddress(address));
    const [first] = error === null ? found : [];
    if (isPrivate || first === undefined) callback(isPrivate ? new PrivateHostError() : error, []);
    else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  });
};
