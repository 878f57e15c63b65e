import { BlockList, isIPv6 } from "node:net";
import { isLoopbackHost } from "@signpost/core/adapter";

/** Whether a URL leads to this machine. */
export function isOnLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** The host of a URL as a socket takes it: an IPv6 address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Addresses that are not on the Internet (IANA special-purpose registries): this host, private networks, link-local. */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
] as const) {
  PRIVATE.addSubnet(network, bits, "ipv4");
}
for (const [network, bits] of [
  ["::", 128],
  ["::1", 128],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
] as const) {
  PRIVATE.addSubnet(network, bits, "ipv6");
}

/** Whether a socket's address belongs to this machine or a private network. An address that cannot be read counts as private. */
export function isPrivateAddress(address: string | undefined): boolean {
  if (address === undefined) return true;
  // Without the zone, as in fe80::1%eth0. A BlockList checks an IPv4-mapped address as the IPv4 address.
  const [plain = ""] = address.split("%");
  return PRIVATE.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
}
