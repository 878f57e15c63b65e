import dns from "node:dns";
import { createPublicDispatcher, createRemoteKeySet } from "@signpost/verify";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { createDnsLookup, OTHER_FAMILY_MS } from "../../src/http/dns-lookup.ts";
import { startDnsServer } from "../support/dns-server.ts";

// Clients choose the names. The server for a name may never answer.

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function server(names: Readonly<Record<string, readonly string[]>>) {
  const started = await startDnsServer((name, family) =>
    name.startsWith("hangs") || (name.startsWith("drops-ipv6") && family === 6) ? undefined : (names[name] ?? []),
  );
  onTestFinished(() => started[Symbol.asyncDispose]());
  return { ...started, lookup: createDnsLookup([started.address]) };
}

it("a server has one second for its first answer, and is asked twice", async () => {
  const options: unknown[] = [];
  const Resolver = class {
    constructor(given: unknown) {
      options.push(given);
    }
    async resolve4() {
      return ["192.0.2.1"];
    }
    async resolve6() {
      return ["2001:db8::1"];
    }
  };
  vi.spyOn(dns.promises, "Resolver", "get").mockReturnValue(Resolver as never);
  expect(await createDnsLookup()("rp.example")).toEqual([
    { address: "192.0.2.1", family: 4 },
    { address: "2001:db8::1", family: 6 },
  ]);
  expect(options).toEqual([{ timeout: 1000, tries: 2 }]);
});

it("no timer is left after both families were found", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(dns.promises.Resolver.prototype, "resolve4").mockResolvedValue(["192.0.2.1"] as never);
  vi.spyOn(dns.promises.Resolver.prototype, "resolve6").mockResolvedValue(["2001:db8::1"]);
  await createDnsLookup()("rp.example");
  expect(vi.getTimerCount()).toBe(0);
});

it("names that are never answered hold up no other", async () => {
  const { lookup, asked } = await server({ "rp.example": ["192.0.2.1", "192.0.2.2"] });
  const hanging = Array.from({ length: 10 }, (_, index) => lookup(`hangs-${index}.example`).catch(() => {}));
  await expect.poll(() => new Set(asked).size).toBe(10);
  expect(await lookup("rp.example")).toEqual([
    { address: "192.0.2.1", family: 4 },
    { address: "192.0.2.2", family: 4 },
  ]);
  expect(hanging).toHaveLength(10);
});

it("a name that is not there is an error with its code", async () => {
  const { lookup } = await server({});
  await expect(lookup("nowhere.example")).rejects.toMatchObject({ code: "ENOTFOUND" });
});

it("a server that never answers for IPv6 delays the IPv4 addresses only briefly", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { lookup } = await server({ "drops-ipv6.example": ["192.0.2.1"] });
  const found = lookup("drops-ipv6.example");
  await expect.poll(() => vi.getTimerCount()).toBe(1);
  expect(OTHER_FAMILY_MS).toBe(1500);
  vi.advanceTimersByTime(OTHER_FAMILY_MS);
  expect(await found).toEqual([{ address: "192.0.2.1", family: 4 }]);
});

it.each([
  ["ENODATA", "ETIMEOUT", "ETIMEOUT"],
  ["ESERVFAIL", "ENODATA", "ESERVFAIL"],
  ["ENODATA", "ENOTFOUND", "ENODATA"],
  ["ECONNREFUSED", "ECONNREFUSED", "EAI_AGAIN"],
])("where IPv4 ends in %s and IPv6 in %s, the error is %s", async (ipv4, ipv6, code) => {
  const { Resolver } = dns.promises;
  const failing = (name: string) => Promise.reject(Object.assign(new Error(name), { code: name }));
  vi.spyOn(Resolver.prototype, "resolve4").mockImplementation(() => failing(ipv4));
  vi.spyOn(Resolver.prototype, "resolve6").mockImplementation(() => failing(ipv6));
  await expect(createDnsLookup()("rp.example")).rejects.toMatchObject({ code });
});

it("localhost is loopback and is not sent to a server", async () => {
  const { lookup, asked } = await server({});
  expect(await lookup("localhost")).toEqual([{ address: "127.0.0.1", family: 4 }]);
  expect(asked).toEqual([]);
});

it.each([
  ["without allowed subnets, which only public names lead to, asks for no name by dns.lookup", [], 0],
  ["with them, asks by dns.lookup, which knows hosts files and search domains", ["10.0.0.0/8"], 1],
])("a dispatcher %s", async (_what, allowSubnets, calls) => {
  const system = vi
    .spyOn(dns, "lookup")
    .mockImplementation(((_name: string, _options: unknown, callback: unknown) =>
      (callback as (error: Error) => void)(new Error("not now"))) as never);
  const dispatcher = createPublicDispatcher({ allowSubnets });
  onTestFinished(() => dispatcher.close());
  const keySet = createRemoteKeySet("https://rp.invalid/jwks", { dispatcher, timeoutMs: 400 });
  await expect(keySet.preload()).rejects.toMatchObject({ name: "KeySetError" });
  expect(system).toHaveBeenCalledTimes(calls);
});
