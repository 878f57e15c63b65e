import { ConfigurationError } from "@signpost/core";
import { createPublicDispatcher } from "@signpost/verify";
import type { LookupLike } from "@signpost/verify";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import type { CountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { fetch } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { findKeySetError } from "../../src/errors.ts";
import { addressRules } from "../../src/http/address.ts";

// For URLs that somebody else chose: which addresses a socket may connect to.

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
    ["64:ff9b:1::1"],
    ["100::1"],
    ["2001::1"],
    ["2001:db8::1"],
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
  ])("%s is allowed", (address) => {
    expect(isAllowed(address)).toBe(true);
  });

  it("a network that the caller names is allowed, and nothing beside it", () => {
    const rules = addressRules(["10.1.0.0/16", "fd00:1::/64"]);
    expect(["10.1.2.3", "::ffff:10.1.2.3", "fd00:1::5"].map(rules.isAllowed)).toEqual([true, true, true]);
    expect(["10.2.0.1", "127.0.0.1", "fd00:2::5"].map(rules.isAllowed)).toEqual([false, false, false]);
  });

  it.each([["10.0.0.0"], ["10.0.0.0/33"], ["10.0.0.0/"], ["example/8"], ["::/129"], [""]])(
    "%j is no network",
    (subnet) => {
      expect(() => addressRules([subnet])).toThrow(ConfigurationError);
    },
  );
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

  it("an allowed network is reached by name and by address", async () => {
    const target = await server();
    const options = { allowSubnets: ["127.0.0.0/8"], lookup: resolvesTo(["127.0.0.1"]) };
    expect(await get(`http://intranet.example:${target.port}/`, options)).toBe("reached");
    expect(await get(`${target.origin}/`, options)).toBe("reached");
  });
});
