import type { BlockList } from "node:net";
import { ConfigurationError } from "@signpost/core";

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
  // Metadata and platform services of clouds, at addresses that look public.
  "168.63.129.16/32",
] as const;

/** Inside the one block that is routed globally, what the IANA IPv6 registry sets apart. */
const GLOBAL_IPV6 = ["2000::/3"] as const;
const SPECIAL_IPV6 = [
  // Protocol assignments, with Teredo and ORCHID.
  "2001::/23",
  "2001:db8::/32",
  // 6to4 carries an IPv4 address of anybody's choice.
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
] as const;

export interface AddressRules {
  /** Whether a socket may connect to this address: canonical text, as a resolver or a socket gives it. */
  isAllowed(address: string): boolean;
}

/** Loaded with the first rules: a start that makes none is 3 ms shorter without it and node:dns. */
function net(): typeof import("node:net") {
  return process.getBuiltinModule("node:net");
}

/**
 * Public unicast addresses, and those in `allowSubnets` (CIDR). An IPv4 address inside an IPv6 one
 * (IPv4-mapped) is judged as IPv4; the other embeddings (NAT64, 6to4, Teredo) are not public.
 */
export function addressRules(allowSubnets: readonly string[] = []): AddressRules {
  const allowed = blockList(allowSubnets, "allowSubnets");
  const special = blockList([...SPECIAL_IPV4, ...SPECIAL_IPV6], "address");
  const globalIpv6 = blockList(GLOBAL_IPV6, "address");
  return {
    isAllowed(address) {
      const plain = unmapped(address);
      const family = familyOf(plain);
      if (family === undefined) return false;
      if (allowed.check(plain, family)) return true;
      if (special.check(plain, family)) return false;
      return family === "ipv4" || globalIpv6.check(plain, family);
    },
  };
}

function blockList(subnets: readonly string[], argument: string): BlockList {
  const list = new (net().BlockList)();
  for (const subnet of subnets) {
    const [network = "", prefix = ""] = subnet.split("/");
    const family = familyOf(network);
    const most = family === "ipv4" ? 32 : 128;
    if (family === undefined || !/^\d{1,3}$/.test(prefix) || Number(prefix) > most) {
      throw new ConfigurationError(argument, "expected subnets such as 10.1.0.0/16 or fd00:1::/64");
    }
    list.addSubnet(network, Number(prefix), family);
  }
  return list;
}

/** `undefined` for what is no address. */
export function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  const version = net().isIP(address);
  if (version === 0) return undefined;
  return version === 4 ? "ipv4" : "ipv6";
}

/** `::ffff:a.b.c.d`, in whichever spelling, as `a.b.c.d`; without a zone. */
function unmapped(address: string): string {
  const text = address.split("%", 1)[0] ?? "";
  if (familyOf(text) !== "ipv6") return text;
  // The URL parser spells every IPv6 address in the one canonical way.
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (mapped === null) return canonical;
  const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
