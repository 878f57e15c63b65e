import { BlockList, isIPv4, isIPv6 } from "node:net";

/**
 * Addresses that are not on the Internet, by the rules of the address guard in @signpost/verify, which `check` does not load: this
 * host, private networks, link-local, multicast and reserved ones (IANA special-purpose registries), and tunnels that can carry any
 * IPv4 address. Two lists, because a BlockList also finds an IPv4 address in networks of IPv6.
 */
const PRIVATE_IPV4 = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // The platform services of Azure. The address looks public.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const) {
  PRIVATE_IPV4.addSubnet(network, bits, "ipv4");
}
/** Everything but 2000::/3, and what is reserved in there. */
const PRIVATE_IPV6 = new BlockList();
for (const [network, bits] of [
  ["::", 3],
  ["4000::", 2],
  ["8000::", 1],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
] as const) {
  PRIVATE_IPV6.addSubnet(network, bits, "ipv6");
}

/** A socket (IPv4-mapped) or a translator (NAT64, RFC 6052) connects to the IPv4 address in the last four bytes. */
const CARRIES_IPV4 = /^(?:0,0,0,0,0,ffff|64,ff9b,0,0,0,0),/;

/** RFC 5214 section 6.1: an interface identifier of `0:5efe` or `200:5efe` and an IPv4 address, under any prefix. */
const ISATAP = /,(?:0|200),5efe,[^,]+,[^,]+$/;

/** Whether a socket's address may be in a private network. Text that is no address counts as private. */
export function isPrivateAddress(address: string): boolean {
  // Without the zone, as in fe80::1%eth0.
  const [plain = ""] = address.split("%");
  if (isIPv4(plain)) return PRIVATE_IPV4.check(plain, "ipv4");
  if (!isIPv6(plain)) return true;
  const groups = groupsOf(plain);
  const text = groups.join(",");
  if (CARRIES_IPV4.test(text)) return PRIVATE_IPV4.check(ipv4Of(groups.slice(6)), "ipv4");
  return ISATAP.test(text) || PRIVATE_IPV6.check(plain, "ipv6");
}

/** The /96 prefixes of addresses in 64:ff9b:1::/48, where the translator of one network may be (RFC 8215). */
export function localTranslators(addresses: readonly string[]): readonly string[] {
  const plain = addresses.map((address) => address.split("%")[0] ?? "");
  const groups = plain.filter((address) => isIPv6(address)).map(groupsOf);
  // Bits 64 to 71 of an address that a translator takes are zero (RFC 6052 section 2.2).
  const translated = groups.filter(
    (each) => LOCAL_USE.test(each.join(",")) && Number.parseInt(each[4] ?? "", 16) < 0x100,
  );
  return [...new Set(translated.map((each) => `${each.slice(0, 6).join(":")}::/96`))];
}

const LOCAL_USE = /^64,ff9b,1,/;

/** The eight groups of an IPv6 address. The URL parser writes each address in its canonical form, without a dotted part. */
function groupsOf(ipv6: string): readonly string[] {
  const [head = "", tail = ""] = new URL(`http://[${ipv6}]/`).hostname.slice(1, -1).split("::");
  const before = head.split(":").filter((group) => group !== "");
  const after = tail.split(":").filter((group) => group !== "");
  return [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
}

function ipv4Of(groups: readonly string[]): string {
  return groups
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 0xff])
    .join(".");
}
