import { lookup } from "node:dns/promises";
import { hostOf, isOnLoopback, isPrivateAddress } from "./host.ts";

/** The addresses of a host name. */
export type ResolveHost = (host: string) => Promise<readonly { readonly address: string }[]>;

const systemAddresses: ResolveHost = (host) => lookup(host, { all: true });

/** Whether the host of a URL is this machine, or has an address in a private network. */
export async function isPrivateHost(url: URL, resolveHost: ResolveHost = systemAddresses): Promise<boolean> {
  if (isOnLoopback(url.href)) return true;
  // A name that is not found fails with the request, which says why.
  const addresses = await resolveHost(hostOf(url)).catch(() => []);
  return addresses.some(({ address }) => isPrivateAddress(address));
}
