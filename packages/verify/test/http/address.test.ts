import net, { Socket } from "node:net";
import { runInNewContext } from "node:vm";
import { ConfigurationError } from "@signpost/core";
import { createPublicDispatcher } from "@signpost/verify";
import type { LookupLike } from "@signpost/verify";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import type { CountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import * as undici from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { findKeySetError } from "../../src/errors.ts";
import { addressRules } from "../../src/http/address.ts";
import { publicDispatcher } from "../../src/http/public-dispatcher.ts";

// For URLs that another party chose: which addresses a socket may connect to.

const { fetch } = undici;

describe("addresses", () => {
  const { isAllowed } = addressRules();
  it.each([
    ["0.0.0.0"],
    ["10.0.0.1"],
    ["100.64.0.1"],
    ["100.127.255.255"],
    ["127.0.0.1"],
    ["127.255.255.254"],
    ["169.254.169.254"],
    ["172.16.0.1"],
    ["172.31.255.255"],
    ["192.0.0.192"],
    ["192.0.2.1"],
    ["192.31.196.1"],
    ["192.52.193.1"],
    ["192.175.48.1"],
    ["192.88.99.1"],
    ["192.168.1.1"],
    ["168.63.129.16"],
    ["198.18.0.1"],
    ["198.51.100.1"],
    ["203.0.113.1"],
    ["224.0.0.1"],
    ["240.0.0.1"],
    ["255.255.255.255"],
    ["::"],
    ["::1"],
    ["::127.0.0.1"],
    ["::ffff:127.0.0.1"],
    ["::ffff:7f00:1"],
    ["0:0:0:0:0:ffff:a9fe:a9fe"],
    ["::FFFF:10.0.0.1"],
    ["64:ff9b::7f00:1"],
    ["64:ff9b::7f00:1%eth0"],
    ["64:ff9b::10.0.0.1"],
    ["64:ff9b::169.254.169.254"],
    ["64:ff9b::168.63.129.16"],
    ["64:ff9b::"],
    ["64:ff9b:0:0:100::101:101"],
    ["64:ff9b::1:101:101"],
    ["64:ff9b:1::1"],
    ["64:ff9b:1::1.1.1.1"],
    ["::1.1.1.1"],
    ["::ffff:0:1.1.1.1"],
    ["::fffe:1.1.1.1"],
    ["2002:101:101::"],
    ["2001:0:101:101::fefe:fefe"],
    ["2606:4700::5efe:1.1.1.1"],
    ["2606:4700::200:5efe:1.1.1.1"],
    ["100::1"],
    ["2001::1"],
    ["2001:db8::1"],
    ["2620:4f:8000::1"],
    ["2002:7f00:1::"],
    ["3fff::1"],
    ["fc00::1"],
    ["fd00:ec2::254"],
    ["fe80::1"],
    ["fe80::1%eth0"],
    ["fec0::1"],
    ["ff02::1"],
    ["5f00::1"],
    [""],
    ["localhost"],
    ["2130706433"],
  ])("%s is refused", (address) => {
    expect(isAllowed(address)).toBe(false);
  });

  it.each([
    ["1.1.1.1"],
    ["93.184.216.34"],
    ["172.32.0.1"],
    ["100.128.0.1"],
    ["2606:4700::1111"],
    ["2a00:1450::1"],
    ["::ffff:1.1.1.1"],
    ["0:0:0:0:0:FFFF:0101:0101"],
    ["64:ff9b::101:101"],
    ["64:FF9B::1.1.1.1"],
    ["2606:4700::5eff:101:101"],
    ["2606:4700::400:5efe:101:101"],
  ])("%s is allowed", (address) => {
    expect(isAllowed(address)).toBe(true);
  });

  it("a network that the caller names is allowed, and nothing else", () => {
    const rules = addressRules({ allowSubnets: ["10.1.0.0/16", "fd00:1::/64"] });
    expect(["10.1.2.3", "::ffff:10.1.2.3", "fd00:1::5"].map(rules.isAllowed)).toEqual([true, true, true]);
    expect(["10.2.0.1", "127.0.0.1", "fd00:2::5"].map(rules.isAllowed)).toEqual([false, false, false]);
  });

  it("a network that the caller allows is checked in its own family", () => {
    const everyIpv6 = addressRules({ allowSubnets: ["::/0"] });
    expect(["fd00::1", "::ffff:10.0.0.1", "10.0.0.1"].map(everyIpv6.isAllowed)).toEqual([true, false, false]);
    const mapped = addressRules({ allowSubnets: ["::ffff:10.0.0.0/104"] });
    expect(["10.0.0.1", "::ffff:10.0.0.1", "11.0.0.1", "127.0.0.1"].map(mapped.isAllowed)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(["::1", "::10.0.0.1"].map(mapped.isAllowed)).toEqual([false, false]);
  });

  it.each([
    ["10.0.0.0"],
    ["10.0.0.0/33"],
    ["10.0.0.0/8/8"],
    ["fe80::%eth0/64"],
    ["::ffff:10.0.0.0/95"],
    ["10.0.0.0/"],
    ["10.0.0.0/0x8"],
    ["10.0.0.0/+8"],
    ["10.0.0.0/8x"],
    ["10.0.0.0/0008"],
    ["example/8"],
    ["::/129"],
    [""],
  ])("%j is no network", (subnet) => {
    expect(() => addressRules({ allowSubnets: [subnet] })).toThrow(ConfigurationError);
  });
});

describe("NAT64", () => {
  const prefixes = [
    "2001:db8::/32",
    "2001:db8:100::/40",
    "2001:db8:122::/48",
    "2001:db8:122:300::/56",
    "2001:db8:122:344::/64",
    "2001:db8:122:344::/96",
  ];
  // RFC 6052 section 2.4: 192.0.2.33 under each prefix length.
  const examples = [
    "2001:db8:c000:221::",
    "2001:db8:1c0:2:21::",
    "2001:db8:122:c000:2:2100::",
    "2001:db8:122:3c0:0:221::",
    "2001:db8:122:344:c0:2:2100::",
    "2001:db8:122:344::192.0.2.33",
  ];
  // 8.8.8.8 and 10.0.0.1 in the same layouts.
  const open = [
    "2001:db8:808:808::",
    "2001:db8:108:808:8::",
    "2001:db8:122:808:8:800::",
    "2001:db8:122:308:8:808::",
    "2001:db8:122:344:8:808:800::",
    "2001:db8:122:344::8.8.8.8",
  ];
  const closed = [
    "2001:db8:a00:1::",
    "2001:db8:10a:0:1::",
    "2001:db8:122:a00:0:100::",
    "2001:db8:122:30a:0:1::",
    "2001:db8:122:344:a:0:100::",
    "2001:db8:122:344::10.0.0.1",
  ];

  it.each(prefixes.map((prefix, index) => [prefix, index] as const))("%s embeds an IPv4 address", (prefix, index) => {
    const at = (list: readonly string[]): string => list[index] ?? "";
    const { isAllowed } = addressRules({ nat64Prefixes: [prefix] });
    expect([at(open), at(closed), at(examples)].map(isAllowed)).toEqual([true, false, false]);
    const documentation = addressRules({ nat64Prefixes: [prefix], allowSubnets: ["192.0.2.0/24"] });
    expect([at(examples), at(closed)].map(documentation.isAllowed)).toEqual([true, false]);
    // Without the option, the prefix is what the registry says.
    expect(addressRules().isAllowed(at(open))).toBe(false);
  });

  it.each([
    ["the u-octet is not zero", "2001:db8:122:344:108:808:800::"],
    ["there is something behind the address", "2001:db8:122:344:8:808:800:1"],
  ])("an address is refused where %s", (_name, address) => {
    expect(addressRules({ nat64Prefixes: ["2001:db8:122:344::/64"] }).isAllowed(address)).toBe(false);
  });

  it("allowing a prefix opens no private address behind it", () => {
    const rules = addressRules({
      allowSubnets: ["64:ff9b::/96", "2001:db8:64::/48"],
      nat64Prefixes: ["2001:db8:64::/96"],
    });
    const addresses = ["64:ff9b::1.1.1.1", "64:ff9b::10.0.0.1", "2001:db8:64::1.1.1.1", "2001:db8:64::10.0.0.1"];
    expect(addresses.map(rules.isAllowed)).toEqual([true, false, true, false]);
  });

  it("a private network is reached through it if the caller allows that network", () => {
    const rules = addressRules({ allowSubnets: ["10.1.0.0/16"] });
    expect(["64:ff9b::10.1.2.3", "64:ff9b::10.2.0.1"].map(rules.isAllowed)).toEqual([true, false]);
  });

  it("prefixes for local use (RFC 8215) count if their length is known", () => {
    expect(addressRules({ allowSubnets: ["::/0"] }).isAllowed("64:ff9b:1::1.1.1.1")).toBe(false);
    expect(() => addressRules({ allowSubnets: ["64:ff9b:1:2::/64"] })).toThrow(
      expect.objectContaining({ argument: "allowSubnets", message: expect.stringContaining("nat64Prefixes") }),
    );
    const { isAllowed } = addressRules({ nat64Prefixes: ["64:ff9b:1:fffe::/96"] });
    expect(["64:ff9b:1:fffe::1.1.1.1", "64:ff9b:1:fffe::10.0.0.1", "64:ff9b:1::1.1.1.1"].map(isAllowed)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("the longest prefix counts if one is inside another", () => {
    const { isAllowed } = addressRules({ nat64Prefixes: ["2001:db8::/32", "2001:db8:122:344::/96"] });
    expect(isAllowed("2001:db8:122:344::8.8.8.8")).toBe(true);
  });

  it.each([
    ["2001:db8::/33"],
    ["2001:db8::/128"],
    ["2001:db8::"],
    ["2001:db8:0:0:100::/96"],
    ["2001:db8::1/96"],
    ["10.0.0.0/32"],
    ["::ffff:0:0/96"],
    ["nat64"],
  ])("%j is no prefix", (prefix) => {
    expect(() => createPublicDispatcher({ nat64Prefixes: [prefix] })).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument: "nat64Prefixes" }),
    );
  });
});

describe("where the socket connects", () => {
  async function server(): Promise<CountingJwksServer & { port: string }> {
    const started = await startCountingJwksServer(() => ({ body: "reached" }));
    onTestFinished(() => started.stop());
    return Object.assign(started, { port: new URL(started.origin).port });
  }

  const resolvesTo =
    (...answers: string[][]): LookupLike =>
    (_hostname, _options, callback) => {
      const addresses = answers.length > 1 ? answers.shift() : answers[0];
      callback(
        null,
        (addresses ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    };

  async function get(url: string, options: Parameters<typeof createPublicDispatcher>[0]): Promise<string> {
    const dispatcher = createPublicDispatcher(options);
    onTestFinished(() => dispatcher.close());
    try {
      return await (await fetch(url, { dispatcher, redirect: "manual" })).text();
    } catch (error) {
      return findKeySetError(error)?.code ?? "another error";
    }
  }

  it.each([
    ["127.0.0.1"],
    ["2130706433"],
    ["0x7f000001"],
    ["0177.0.0.1"],
    ["127.1"],
    ["[::ffff:127.0.0.1]"],
    ["[::1]"],
    ["localhost"],
  ])("http://%s/ is refused without a connection", async (host) => {
    const target = await server();
    expect(await get(`http://${host}:${target.port}/`, {})).toBe("address_refused");
    expect(target.connections()).toBe(0);
  });

  it("a name that resolves to loopback is refused without a connection", async () => {
    const target = await server();
    expect(await get(`http://rebind.example:${target.port}/`, { lookup: resolvesTo(["127.0.0.1"]) })).toBe(
      "address_refused",
    );
    expect(target.connections()).toBe(0);
  });

  it("one private address among public ones is refused", async () => {
    const target = await server();
    const lookup = resolvesTo(["1.1.1.1", "127.0.0.1"]);
    expect(await get(`http://rebind.example:${target.port}/`, { lookup })).toBe("address_refused");
    expect(target.connections()).toBe(0);
  });

  it("a name that resolves differently the second time gains nothing", async () => {
    const target = await server();
    // What an attacker's name server answers: an allowed address first, loopback from then on.
    const lookup = resolvesTo(["127.0.0.1"], ["127.0.0.2"]);
    const dispatcher = createPublicDispatcher({ lookup, allowSubnets: ["127.0.0.1/32"] });
    onTestFinished(() => dispatcher.close());
    const url = `http://rebind.example:${target.port}/`;
    const first = await fetch(url, { dispatcher, headers: { connection: "close" } });
    expect(await first.text()).toBe("reached");
    const second: unknown = await fetch(url, { dispatcher }).catch((error: unknown) => error);
    expect(findKeySetError(second)).toMatchObject({ code: "address_refused" });
    expect(target.connections()).toBe(1);
  });

  it("a name that does not resolve is another error", async () => {
    const lookup: LookupLike = (_hostname, _options, callback) =>
      callback(Object.assign(new Error("ENOTFOUND"), { code: "ENOTFOUND" }), []);
    expect(await get("http://nowhere.example/", { lookup })).toBe("another error");
    expect(await get("http://nowhere.example/", { lookup: resolvesTo([]) })).toBe("address_refused");
  });

  // A callback of the resolver runs outside of every promise: what is thrown there ends the process.
  const answering = (...answer: readonly unknown[]): LookupLike =>
    ((_hostname: string, _options: unknown, callback: (...args: readonly unknown[]) => void) => {
      setImmediate(() => callback(...answer));
    }) as never;

  const unreadable = {
    get address() {
      throw new Error("down");
    },
  };

  it.each<[string, readonly unknown[], string]>([
    ["one private address", [null, "127.0.0.1", 4], "address_refused"],
    ["one private IPv6 address", [null, "::1", 6], "address_refused"],
    ["a list of texts", [null, ["127.0.0.1"]], "address_refused"],
    ["one object", [null, { address: "127.0.0.1", family: 4 }], "address_refused"],
    ["nothing", [], "address_refused"],
    ["null", [null, null], "address_refused"],
    ["a number", [null, 2130706433], "address_refused"],
    ["a name", [null, "localhost"], "address_refused"],
    ["a list with null", [null, [null]], "address_refused"],
    ["a list without addresses", [null, [{ address: 7, family: 4 }]], "address_refused"],
    ["a good and a bad one", [null, [{ address: "1.1.1.1", family: 4 }, {}]], "address_refused"],
    ["an error that is not an Error", ["ENOTFOUND"], "another error"],
    ["undefined for no error, and one private address", [undefined, "127.0.0.1", 4], "address_refused"],
    ["an address that cannot be read", [null, [unreadable]], "another error"],
  ])("a lookup that answers with %s is an error", async (_name, answer, code) => {
    expect(await get("http://intranet.example/", { lookup: answering(...answer) })).toBe(code);
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("down"))],
    ["throws a value that is not an Error", () => Promise.reject(7)],
    ["rejects by a promise of another realm", () => runInNewContext("Promise.reject(7)")],
  ])("a lookup that %s is an error", async (_name, lookup) => {
    expect(await get("http://intranet.example/", { lookup })).toBe("another error");
  });

  it("any other return value of a lookup is not an answer, such as the request that dns.lookup returns", async () => {
    const target = await server();
    const allowSubnets = ["127.0.0.0/8", "::1/128"];
    expect(await get(`http://localhost:${target.port}/`, { allowSubnets })).toBe("reached");
    const lookup: LookupLike = (_hostname, _options, callback) =>
      setImmediate(() => callback(null, [{ address: "127.0.0.1", family: 4 }]));
    expect(await get(`http://intranet.example:${target.port}/`, { allowSubnets, lookup })).toBe("reached");
  });

  it("a lookup that resolves with its result is accepted, and checked", async () => {
    const target = await server();
    const url = `http://localhost:${target.port}/`;
    const lookup: unknown = async () => [{ address: "127.0.0.1", family: 4 }];
    expect(await get(url, { lookup: lookup as LookupLike })).toBe("address_refused");
    expect(await get(url, { lookup: lookup as LookupLike, allowSubnets: ["127.0.0.0/8"] })).toBe("reached");
  });

  it("a lookup that answers twice is heard once", async () => {
    const lookup: LookupLike = (_hostname, _options, callback) => {
      callback(null, []);
      callback(null, [{ address: "127.0.0.1", family: 4 }]);
    };
    expect(await get("http://intranet.example/", { lookup })).toBe("address_refused");
  });

  it("a lookup that answers with one address, or with a wrong family, is understood", async () => {
    const target = await server();
    const url = `http://intranet.example:${target.port}/`;
    const allowSubnets = ["127.0.0.0/8"];
    expect(await get(url, { allowSubnets, lookup: answering(null, "127.0.0.1", 4) })).toBe("reached");
    const wrongFamily = answering(null, [{ address: "127.0.0.1", family: 6 }]);
    expect(await get(url, { allowSubnets, lookup: wrongFamily })).toBe("reached");
  });

  it("a connection that was reset before the check is a network failure", async () => {
    // Neither a peer nor an address is known of such a socket any more.
    const sockets: Socket[] = [];
    const buildConnector: typeof undici.buildConnector = () => (_target, callback) => {
      const socket = new Socket();
      sockets.push(socket);
      callback(null, socket);
    };
    const dispatcher = publicDispatcher({ ...undici, buildConnector });
    onTestFinished(() => dispatcher.close());
    const error: unknown = await undici.fetch("http://rp.example/", { dispatcher }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  it.each([
    [250, 1000],
    [3000, 3000],
  ])("where Node gives an address %i ms, the guard gives it %i ms", (ofNode, expected) => {
    vi.spyOn(net, "getDefaultAutoSelectFamilyAttemptTimeout").mockReturnValue(ofNode);
    onTestFinished(() => void vi.restoreAllMocks());
    const buildConnector = vi.fn<typeof undici.buildConnector>(undici.buildConnector);
    const dispatcher = publicDispatcher({ ...undici, buildConnector });
    onTestFinished(() => dispatcher.close());
    expect(buildConnector).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ autoSelectFamilyAttemptTimeout: expected }),
    );
  });

  it("an idle connection is closed after seconds, even if its server asks for ten minutes", () => {
    const given: unknown[] = [];
    class Agent extends undici.Agent {
      constructor(options?: undici.Agent.Options) {
        super(options);
        given.push(options);
      }
    }
    const dispatcher = publicDispatcher({ ...undici, Agent });
    onTestFinished(() => dispatcher.close());
    // One keeps connections, and one makes a new one for each request.
    const bounded = expect.objectContaining({ keepAliveMaxTimeout: 4000 });
    expect(given).toEqual([bounded, bounded]);
  });

  it("an allowed network is reached by name and by address", async () => {
    const target = await server();
    const options = { allowSubnets: ["127.0.0.0/8"], lookup: resolvesTo(["127.0.0.1"]) };
    expect(await get(`http://intranet.example:${target.port}/`, options)).toBe("reached");
    expect(await get(`${target.origin}/`, options)).toBe("reached");
  });
});
