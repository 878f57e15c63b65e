import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { DiscoveryExchange, Exchange, ProbeRequest } from "../../src/check/exchange.ts";
import type { Located } from "../../src/check/probe/locate.ts";
import { get } from "../../src/check/probe/requests.ts";
import { readTarget } from "../../src/check/probe/target.ts";
import { watch } from "../../src/check/watch/watch.ts";
import { EC_KEY, ED_KEY, exchangeOf, op } from "./support/op.ts";
import type { Op } from "./support/op.ts";

// When a watch looks and wakes up, by a clock that moves only while it waits.

const START = Date.parse("2026-07-01T08:00:00Z");
const network = vi.hoisted(() => ({
  located: undefined as Partial<Located> | undefined,
  asked: [] as ProbeRequest[],
  probers: [] as unknown[],
  answer: (_request: ProbeRequest): Exchange => {
    throw new TypeError("there is no answer");
  },
  waits: [] as number[],
  pass: (_ms: number): void => undefined,
}));
vi.mock("../../src/check/probe/locate.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  locate: async () => network.located,
}));
vi.mock("../../src/check/probe/prober.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  createProber: (given: string, probing: object) => {
    network.probers.push([given, probing]);
    const ask = async (request: ProbeRequest): Promise<Exchange> => {
      network.asked.push(request);
      return network.answer(request);
    };
    return { ask };
  },
}));
vi.mock("node:timers/promises", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  setTimeout: async (ms: number, _value: unknown, { signal }: { readonly signal: AbortSignal }) => {
    signal.throwIfAborted();
    network.waits.push(ms);
    network.pass(ms);
  },
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: START });
  for (const list of [network.asked, network.probers, network.waits]) list.length = 0;
  network.pass = (ms) => void vi.advanceTimersByTime(ms);
});
afterEach(() => void vi.useRealTimers());

const PLACE = "https://cdn.example/jwks";
const request = get(PLACE);
const lifetime = (seconds: number, keys: readonly unknown[]): Op =>
  op({ keys, headers: { "cache-control": `max-age=${seconds}` } });
/** The OP answers at any place. */
const seen = (server: Op): Exchange => {
  const exchange = exchangeOf((asked) => server({ ...asked, url: "https://op.example/jwks" }), request);
  return exchange;
};
const LOST: Exchange = { kind: "no-answer", request, reason: "connection", detail: "ECONNRESET" };

function watching(signal = new AbortController().signal) {
  const options = { isStrict: false, isHttpAllowed: true, timeoutMs: 1000, intervalMs: 30_000, signal };
  return { looks: watch(readTarget("https://op.example", false), options), options };
}

/** What is told from the start on, in seconds, of so many steps. */
async function told(steps: number): Promise<readonly string[]> {
  const events: string[] = [];
  const { looks } = watching();
  for (let step = 0; step < steps; step += 1) {
    const { value } = await looks.next();
    const second = (Date.now() - START) / 1000;
    events.push(...(value?.events ?? []).map(({ event }) => `${second} ${event}`));
  }
  await looks.return();
  return events;
}

describe("without a place of the key set", () => {
  const found = (exchange: Exchange): readonly DiscoveryExchange[] => [
    { document: "openid-configuration", redirects: [], exchange },
  ];
  const NO_DOCUMENT = "no discovery document tells where the key set is";

  test.each<[what: string, discovery: readonly DiscoveryExchange[], why: string]>([
    ["because the host is away", found(LOST), "no connection (ECONNRESET)"],
    ["because of its documents", found(seen(() => ({ status: 404, headers: {} }))), NO_DOCUMENT],
    ["because nothing was asked", [], NO_DOCUMENT],
  ])("%s, a watch says why, and ends", async (_what, discovery, why) => {
    network.located = { first: undefined, discovery };
    const { looks } = watching();
    expect((await looks.next()).value?.events).toEqual([{ event: "away", at: START, why }]);
    expect(await looks.next()).toEqual({ done: true, value: undefined });
    expect([network.asked, network.waits]).toEqual([[], []]);
  });
});

describe("a watch", () => {
  test("looks again after each interval, where the redirects led, with the bounds of a check", async () => {
    network.located = { first: { redirects: [], exchange: seen(lifetime(60, [EC_KEY])) }, discovery: [] };
    network.answer = () => LOST;
    const { looks, options } = watching();
    for (let step = 0; step < 3; step += 1) await looks.next();
    await looks.return();
    expect(network.waits).toEqual([30_000, 30_000]);
    expect(network.asked).toEqual([get(PLACE), get(PLACE)]);
    expect(network.probers).toEqual([["https://op.example", { ...options, maxBytes: 1_048_576 }]]);
  });

  test("wakes up for the moment when a key may sign, and still looks in time", async () => {
    network.located = { first: { redirects: [], exchange: seen(lifetime(10, [EC_KEY])) }, discovery: [] };
    network.answer = () => seen(lifetime(10, [EC_KEY, ED_KEY]));
    // Announced at 30 s, when caches had ten seconds more, and twice that behind a shared cache.
    expect(await told(5)).toEqual(["0 watching", "30 announced", "40 may-sign", "50 may-sign"]);
    expect(network.waits).toEqual([30_000, 10_000, 10_000, 10_000]);
  });

  test("does not wait for a moment that is over", async () => {
    network.located = { first: { redirects: [], exchange: seen(lifetime(0, [EC_KEY])) }, discovery: [] };
    network.answer = () => seen(lifetime(0, [EC_KEY, ED_KEY]));
    expect(await told(4)).toEqual(["0 watching", "30 announced", "30 may-sign"]);
    expect(network.waits).toEqual([30_000, 30_000]);
  });

  test("wakes up at once if the wall clock jumped over a moment while it slept", async () => {
    network.located = { first: { redirects: [], exchange: seen(lifetime(20, [EC_KEY])) }, discovery: [] };
    network.answer = () => seen(lifetime(20, [EC_KEY, ED_KEY]));
    network.pass = (ms) => void vi.advanceTimersByTime(ms === 20_000 ? 21_000 : ms);
    expect(await told(3)).toEqual(["0 watching", "30 announced", "51 may-sign"]);
    expect(network.waits).toEqual([30_000, 20_000]);
  });

  test("ends with its signal, while it waits", async () => {
    network.located = { first: { redirects: [], exchange: seen(lifetime(60, [EC_KEY])) }, discovery: [] };
    const ending = new AbortController();
    const { looks } = watching(ending.signal);
    await looks.next();
    ending.abort(new Error("stopped"));
    await expect(looks.next()).rejects.toThrow("stopped");
    expect(network.asked).toEqual([]);
  });
});
