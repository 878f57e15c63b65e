/** The 4 or 16 bytes of an address. */
export type IpAddress = Uint8Array;

export interface IpNetwork {
  readonly address: IpAddress;
  readonly prefixLength: number;
}

/** Loaded with the first address. Without it, a start is 3 ms shorter. */
function net(): typeof import("node:net") {
  return process.getBuiltinModule("node:net");
}

/**
 * Parses an address in any spelling that a resolver or a socket uses. Returns `undefined` for any other text. IPv4-mapped IPv6
 * (`::ffff:a.b.c.d`) becomes the IPv4 address that a socket connects to. A zone is removed.
 */
export function parseAddress(text: string): IpAddress | undefined {
  const plain = text.split("%", 1)[0] ?? "";
  const version = net().isIP(plain);
  if (version === 0) return undefined;
  if (version === 4) return Uint8Array.from(plain.split("."), Number);
  const bytes = ipv6Bytes(plain);
  return contains(IPV4_MAPPED, bytes) ? bytes.subarray(12) : bytes;
}

/** Parses CIDR notation. A network of IPv4-mapped addresses becomes the IPv4 network. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [network = "", prefix = "", ...more] = text.split("/");
  const address = parseAddress(network);
  if (address === undefined || more.length > 0 || network.includes("%") || !/^\d{1,3}$/.test(prefix)) return undefined;
  const isMapped = address.length === 4 && network.includes(":");
  const prefixLength = Number(prefix) - (isMapped ? IPV4_MAPPED.prefixLength : 0);
  return prefixLength >= 0 && prefixLength <= address.length * 8 ? { address, prefixLength } : undefined;
}

/** All networks, or `undefined` if one cannot be parsed. */
export function parseNetworks(texts: readonly string[]): readonly IpNetwork[] | undefined {
  const networks = texts.map(parseNetwork);
  return networks.every((network) => network !== undefined) ? networks : undefined;
}

/** An IPv4 address is never in an IPv6 network, and the reverse. */
export function contains({ address: network, prefixLength }: IpNetwork, address: IpAddress): boolean {
  if (network.length !== address.length) return false;
  const whole = prefixLength >> 3;
  for (let index = 0; index < whole; index += 1) if (network[index] !== address[index]) return false;
  const rest = prefixLength & 7;
  return rest === 0 || (((network[whole] ?? 0) ^ (address[whole] ?? 0)) & (0xff << (8 - rest)) & 0xff) === 0;
}

const IPV4_MAPPED: IpNetwork = {
  address: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0),
  prefixLength: 96,
};

function ipv6Bytes(text: string): Uint8Array {
  // The URL parser writes every IPv6 address in its canonical form, without a dotted part.
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [head, tail] = canonical.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const before = head ?? [];
  const after = tail ?? [];
  const zeros = Array<string>(8 - before.length - after.length).fill("0");
  return Uint8Array.from(
    [...before, ...zeros, ...after].flatMap((group) => {
      const value = Number.parseInt(group, 16);
      return [value >> 8, value & 0xff];
    }),
  );
}
