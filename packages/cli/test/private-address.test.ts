import { describe, expect, test } from "vitest";
import { isPrivateAddress, localTranslators } from "../src/network/private-address.ts";

describe("a private network, first and last address", () => {
  test.each([
    ["0.0.0.0", "0.255.255.255"],
    ["10.0.0.0", "10.255.255.255"],
    ["100.64.0.0", "100.127.255.255"],
    ["127.0.0.0", "127.255.255.255"],
    ["168.63.129.16", "168.63.129.16"],
    ["169.254.0.0", "169.254.255.255"],
    ["172.16.0.0", "172.31.255.255"],
    ["192.0.0.0", "192.0.0.255"],
    ["192.0.2.0", "192.0.2.255"],
    ["192.31.196.0", "192.31.196.255"],
    ["192.52.193.0", "192.52.193.255"],
    ["192.88.99.0", "192.88.99.255"],
    ["192.168.0.0", "192.168.255.255"],
    ["192.175.48.0", "192.175.48.255"],
    ["198.18.0.0", "198.19.255.255"],
    ["198.51.100.0", "198.51.100.255"],
    ["203.0.113.0", "203.0.113.255"],
    ["224.0.0.0", "255.255.255.255"],
    ["::", "1fff:ffff::"],
    ["4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["2001::", "2001:1ff:ffff::"],
    ["2001:db8::", "2001:db8:ffff::"],
    ["2002::", "2002:ffff::"],
    ["2620:4f:8000::", "2620:4f:8000:ffff::"],
    ["3fff::", "3fff:fff:ffff::"],
    ["fe80::1%eth0", "::1"],
    ["no address", ""],
  ])("%s to %s", (first, last) => {
    expect([isPrivateAddress(first), isPrivateAddress(last)]).toEqual([true, true]);
  });
});

describe("is not private:", () => {
  test.each([
    ["1.0.0.0", "9.255.255.255"],
    ["11.0.0.0", "100.63.255.255"],
    ["100.128.0.0", "126.255.255.255"],
    ["128.0.0.0", "168.63.129.15"],
    ["168.63.129.17", "169.253.255.255"],
    ["169.255.0.0", "172.15.255.255"],
    ["172.32.0.0", "191.255.255.255"],
    ["192.0.1.0", "192.0.3.0"],
    ["192.31.195.255", "192.31.197.0"],
    ["192.52.192.255", "192.52.194.0"],
    ["192.88.98.255", "192.88.100.0"],
    ["192.167.255.255", "192.169.0.0"],
    ["192.175.47.255", "192.175.49.0"],
    ["198.17.255.255", "198.20.0.0"],
    ["198.51.99.255", "198.51.101.0"],
    ["203.0.112.255", "223.255.255.255"],
    ["2000::", "2000:ffff::"],
    ["2001:200::", "2001:db7:ffff::"],
    ["2001:db9::", "2003::"],
    ["2620:4f:7fff::", "2620:4f:8001::"],
    ["3ffe:ffff::", "3fff:1000::"],
  ])("%s, %s", (one, other) => {
    expect([isPrivateAddress(one), isPrivateAddress(other)]).toEqual([false, false]);
  });
});

test.each([
  ["::ffff:10.0.0.1", true],
  ["::ffff:8.8.8.8", false],
  ["64:ff9b::10.0.0.1", true],
  ["64:ff9b::8.8.8.8", false],
  ["::fffe:8.8.8.8", true],
  ["2a00:1:2:3:0:5efe:808:808", true],
  ["2a00:1:2:3:200:5efe:808:808", true],
  ["2a00:1:2:3:100:5efe:808:808", false],
])("%s, which carries another address, is private: %s", (address, isPrivate) => {
  expect(isPrivateAddress(address)).toBe(isPrivate);
});

test("the translators of a network are told from its addresses", () => {
  const addresses = [
    "64:ff9b:1:2:3:4:808:808",
    "64:ff9b:1:2:3:4:0:1%eth0",
    "64:ff9b:1:2:ff:4::1",
    "64:ff9b:1:2:100:4::1",
  ];
  expect(localTranslators(addresses)).toEqual(["64:ff9b:1:2:3:4::/96", "64:ff9b:1:2:ff:4::/96"]);
  expect(localTranslators(["64:ff9b:2:2:3:4::", "64:ff9b::1", "8.8.8.8", "x"])).toEqual([]);
});

test.each([
  ["64:ff9b::192.168.0.1", true],
  ["64:ff9b::192.169.0.1", false],
  ["64:ff9b::172.31.255.255", true],
  ["64:ff9b::172.32.0.0", false],
  ["64:ff9b::192.0.1.0", false],
  ["64:ff9b::192.0.2.1", true],
  ["64:ff9b::168.63.129.16", true],
  ["64:ff9b::168.63.129.17", false],
])("an address of IPv4 in one of IPv6 is read to its last bit: %s", (address, isPrivate) => {
  expect(isPrivateAddress(address)).toBe(isPrivate);
});
