import { BlockList, isIPv4 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contains, parseAddress, parseNetwork, parseNetworks } from "../../src/http/ip-network.ts";

const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

describe("an address", () => {
  it.each<[text: string, bytes: readonly number[]]>([
    ["192.0.2.1", [192, 0, 2, 1]],
    ["0.0.0.0", [0, 0, 0, 0]],
    ["255.255.255.255", [255, 255, 255, 255]],
    ["::", zeros(16)],
    ["::1", [...zeros(15), 1]],
    ["2001:db8::", [0x20, 0x01, 0x0d, 0xb8, ...zeros(12)]],
    ["2001:DB8:0:0:0:0:0:1", [0x20, 0x01, 0x0d, 0xb8, ...zeros(11), 1]],
    ["1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
    ["ff02::1:ff00:abcd", [0xff, 0x02, ...zeros(9), 1, 0xff, 0, 0xab, 0xcd]],
    ["64:ff9b::192.0.2.33", [0, 0x64, 0xff, 0x9b, ...zeros(8), 192, 0, 2, 33]],
    ["fe80::1%eth0", [0xfe, 0x80, ...zeros(13), 1]],
    ["::ffff:192.0.2.1", [192, 0, 2, 1]],
    ["::FFFF:c000:0201", [192, 0, 2, 1]],
    ["::ffff:0:192.0.2.1", [...zeros(8), 0xff, 0xff, 0, 0, 192, 0, 2, 1]],
    ["::fffe:192.0.2.1", [...zeros(10), 0xff, 0xfe, 192, 0, 2, 1]],
    ["1::ffff:192.0.2.1", [0, 1, ...zeros(8), 0xff, 0xff, 192, 0, 2, 1]],
  ])("%s has its bytes", (text, bytes) => {
    expect(parseAddress(text)).toEqual(Uint8Array.from(bytes));
  });

  it.each([
    "",
    "%eth0",
    "localhost",
    "192.0.2",
    "192.0.2.256",
    "0300.0.2.1",
    "[::1]",
    "::1/128",
    "1:2:3:4:5:6:7",
    ":::",
  ])("%j is none", (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe("a network", () => {
  it.each<[text: string, bytes: readonly number[], prefixLength: number]>([
    ["10.0.0.0/8", [10, 0, 0, 0], 8],
    ["0.0.0.0/0", [0, 0, 0, 0], 0],
    ["192.0.2.1/32", [192, 0, 2, 1], 32],
    ["192.0.2.1/008", [192, 0, 2, 1], 8],
    ["2001:db8::/32", [0x20, 0x01, 0x0d, 0xb8, ...zeros(12)], 32],
    ["::/0", zeros(16), 0],
    ["::1/128", [...zeros(15), 1], 128],
    ["::ffff:10.0.0.0/104", [10, 0, 0, 0], 8],
    ["::ffff:10.0.0.0/96", [10, 0, 0, 0], 0],
    ["::ffff:10.0.0.1/128", [10, 0, 0, 1], 32],
  ])("%s has its address and its length", (text, bytes, prefixLength) => {
    expect(parseNetwork(text)).toEqual({ address: Uint8Array.from(bytes), prefixLength });
  });

  it.each([
    "",
    "10.0.0.0",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/+8",
    "10.0.0.0/8.0",
    "10.0.0.0/0008",
    "10.0.0.0/8/8",
    "10.0.0.0/x8",
    "10.0.0/8",
    "::1/129",
    "::ffff:10.0.0.0/95",
    "::ffff:10.0.0.0/129",
    "fe80::1%eth0/64",
    "/8",
  ])("%j is none", (text) => {
    expect(parseNetwork(text)).toBeUndefined();
    expect(parseNetworks(["10.0.0.0/8", text])).toBeUndefined();
  });

  it("is one of a list", () => {
    expect(parseNetworks([])).toEqual([]);
    expect(parseNetworks(["10.0.0.0/8", "::/0"])).toHaveLength(2);
  });

  it("has the addresses that node:net finds in it, to the bit", () => {
    const ipv4 = fc.ipV4();
    const ipv6 = fc
      .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
      .map((groups) => groups.map((group) => group.toString(16)).join(":"));
    /** An address, and one that differs from it in a single bit, at any place. */
    const pair = fc.oneof(
      fc.tuple(ipv4, fc.integer({ min: 0, max: 31 }), fc.integer({ min: 0, max: 32 })),
      fc.tuple(ipv6, fc.integer({ min: 0, max: 127 }), fc.integer({ min: 0, max: 128 })),
    );
    fc.assert(
      fc.property(pair, ([text, bit, prefixLength]) => {
        const address = parseAddress(text) ?? new Uint8Array();
        const other = Uint8Array.from(address);
        other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7));
        const family = isIPv4(text) ? "ipv4" : "ipv6";
        const oracle = new BlockList();
        oracle.addSubnet(text, prefixLength, family);
        const network = parseNetwork(`${text}/${prefixLength}`);
        if (network === undefined) throw new Error("expected a network");
        expect(contains(network, address)).toBe(true);
        expect(contains(network, other)).toBe(oracle.check(textOf(other), family));
      }),
    );
  });

  it("has no address of the other family", () => {
    const [all4, all6] = parseNetworks(["0.0.0.0/0", "::/0"]) ?? [];
    if (all4 === undefined || all6 === undefined) throw new Error("expected two networks");
    expect(contains(all4, Uint8Array.from(zeros(16)))).toBe(false);
    expect(contains(all6, Uint8Array.from(zeros(4)))).toBe(false);
  });
});

function textOf(address: Uint8Array): string {
  if (address.length === 4) return address.join(".");
  return (Buffer.from(address).toString("hex").match(/.{4}/g) ?? []).join(":");
}
