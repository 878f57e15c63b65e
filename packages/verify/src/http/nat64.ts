import type { IpAddress, IpNetwork } from "./ip-network.ts";
import { contains, parseNetwork } from "./ip-network.ts";

/** RFC 6052 section 2.1. */
const WELL_KNOWN = "64:ff9b::/96";

/** RFC 6052 section 2.2. */
const PREFIX_LENGTHS: readonly number[] = [32, 40, 48, 56, 64, 96];

/** Bits 64 to 71. They are zero in every address and hold no part of the IPv4 address. */
const U_OCTET = 8;

/** The well-known prefix and the network's own. A translator connects to their addresses as IPv4. */
export function nat64Prefixes(networks: readonly string[]): readonly IpNetwork[] | undefined {
  const prefixes = [WELL_KNOWN, ...networks].map(parsePrefix);
  return prefixes.every((prefix) => prefix !== undefined) ? prefixes : undefined;
}

function parsePrefix(text: string): IpNetwork | undefined {
  const network = parseNetwork(text);
  if (network === undefined || network.address.length !== 16) return undefined;
  const { address, prefixLength } = network;
  if (!PREFIX_LENGTHS.includes(prefixLength) || address[U_OCTET] !== 0) return undefined;
  return address.subarray(prefixLength / 8).every((byte) => byte === 0) ? network : undefined;
}

/**
 * The IPv4 address that a translator connects to, by the layout of RFC 6052 section 2.2: the four bytes after the prefix,
 * skipping the u-octet. `undefined` if the u-octet or the suffix is not zero, because no resolver makes such an address.
 */
export function embeddedIpv4(address: IpAddress, { prefixLength }: IpNetwork): IpAddress | undefined {
  const positions = [...address.keys()]
    .slice(prefixLength / 8)
    .filter((index) => prefixLength === 96 || index !== U_OCTET);
  const isZero = (index: number): boolean => address[index] === 0;
  if (!isZero(U_OCTET) || !positions.slice(4).every(isZero)) return undefined;
  return Uint8Array.from(positions.slice(0, 4), (index) => address[index] ?? 0);
}

/** The longest prefix that matches the address. */
export function nat64PrefixOf(address: IpAddress, prefixes: readonly IpNetwork[]): IpNetwork | undefined {
  return prefixes.filter((prefix) => contains(prefix, address)).toSorted((a, b) => b.prefixLength - a.prefixLength)[0];
}
