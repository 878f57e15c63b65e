import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import type { IpAddress, IpNetwork } from "./ip-network.ts";
import { contains, parseAddress, parseNetworks } from "./ip-network.ts";
import { embeddedIpv4, nat64PrefixOf, nat64Prefixes } from "./nat64.ts";

/** IANA IPv4 Special-Purpose Address Registry, with multicast and the reserved block. Metadata services are link-local. */
const SPECIAL_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Metadata and platform services of clouds. Their addresses look public.
  "168.63.129.16/32",
] as const;

/** Blocks that the IANA IPv6 registry reserves inside the only globally routed block. */
const GLOBAL_IPV6 = ["2000::/3"] as const;
const SPECIAL_IPV6 = [
  // Protocol assignments, with Teredo and ORCHID.
  "2001::/23",
  "2001:db8::/32",
  // 6to4 carries any IPv4 address.
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
] as const;

/**
 * For translation inside one network (RFC 8215). Only the operator of that network knows where the IPv4 address is in such an
 * address, and must configure the prefix.
 */
const LOCAL_USE_NAT64 = "64:ff9b:1::/48";

/** The operator's settings for the network. The names are those of the options, for a ConfigurationError. */
export interface AddressRuleOptions {
  readonly allowSubnets?: readonly string[];
  readonly nat64Prefixes?: readonly string[];
}

export interface AddressRules {
  /** Whether a socket may connect to this address, written as a resolver or a socket returns it. */
  isAllowed(address: string): boolean;
}

/**
 * Allows public unicast addresses, and those in `allowSubnets` (CIDR). If a socket would connect to an IPv4 address inside the
 * IPv6 address, that IPv4 address is checked: IPv4-mapped, and NAT64 (RFC 6052 section 3.1). Tunnels that can carry any IPv4
 * address (6to4, Teredo, ISATAP) are not public.
 */
export function addressRules(options: AddressRuleOptions = {}): AddressRules {
  const localUse = registered([LOCAL_USE_NAT64]);
  const allowed = allowedSubnets(options.allowSubnets ?? [], localUse);
  const translated = nat64Prefixes(options.nat64Prefixes ?? []);
  if (translated === undefined) {
    throw new ConfigurationError(
      "nat64Prefixes",
      "expected IPv6 prefixes of 32, 40, 48, 56, 64 or 96 bits, such as 2001:db8:64::/96, " +
        `got ${describeNetworks(options.nat64Prefixes)}`,
    );
  }
  const special = registered([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
  const globalIpv6 = registered(GLOBAL_IPV6);
  const isAllowedItself = (address: IpAddress): boolean => {
    if (isIn(allowed, address)) return true;
    if (isIn(special, address)) return false;
    return address.length === 4 || (isIn(globalIpv6, address) && !isIsatap(address));
  };

  return {
    isAllowed(text) {
      const address = parseAddress(text);
      if (address === undefined) return false;
      const prefix = nat64PrefixOf(address, translated);
      if (prefix !== undefined) {
        const ipv4 = embeddedIpv4(address, prefix);
        return ipv4 !== undefined && isAllowedItself(ipv4);
      }
      return !isIn(localUse, address) && isAllowedItself(address);
    },
  };
}

/** Shows what looks like a network. Any other text may be in the wrong place, and is not shown. */
function describeNetworks(networks: unknown): string {
  if (!Array.isArray(networks)) return given(networks);
  const shown = networks.map((one: unknown) =>
    typeof one === "string" && /^(?=.*[.:])[0-9a-f.:/]{1,50}$/i.test(one) ? one : given(one),
  );
  return shown.join(", ");
}

function allowedSubnets(subnets: readonly string[], localUse: readonly IpNetwork[]): readonly IpNetwork[] {
  const allowed = parseNetworks(subnets);
  if (allowed === undefined) {
    throw new ConfigurationError(
      "allowSubnets",
      `expected subnets such as 10.1.0.0/16 or fd00:1::/64, got ${describeNetworks(subnets)}`,
    );
  }
  if (allowed.some(({ address }) => isIn(localUse, address))) {
    throw new ConfigurationError(
      "allowSubnets",
      `not allowed: a subnet of ${LOCAL_USE_NAT64}, which contains IPv4 addresses. Put its prefix in nat64Prefixes, and IPv4 subnets here`,
    );
  }
  return allowed;
}

/** For the networks of this file. If one could not be parsed, its addresses would be allowed. */
function registered(subnets: readonly string[]): readonly IpNetwork[] {
  const networks = parseNetworks(subnets);
  if (networks === undefined) throw new TypeError("a registered network cannot be parsed");
  return networks;
}

function isIn(list: readonly IpNetwork[], address: IpAddress): boolean {
  return list.some((network) => contains(network, address));
}

/** RFC 5214 section 6.1: an interface identifier of `0:5efe` or `200:5efe` and an IPv4 address, under any prefix. */
function isIsatap(address: IpAddress): boolean {
  return ((address[8] ?? 0) & 0xfd) === 0 && address[9] === 0 && address[10] === 0x5e && address[11] === 0xfe;
}
