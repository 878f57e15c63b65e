import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createLimiter, SignerError, type GuardPolicy } from "@signpost/core";
import { planOpening, readInstant } from "@signpost/core/adapter";
import { countConnections, type CountedDispatcher } from "@signpost/test-backends/counted-connections";
import { createOwnDispatcher, type OwnDispatcher } from "../src/own-dispatcher.ts";

afterEach(() => vi.restoreAllMocks());

async function served(policy: GuardPolicy | false, answersAtOnce = true): Promise<CountedDispatcher<OwnDispatcher>> {
  const counted = await countConnections(await createOwnDispatcher({}, planOpening({ policy })), answersAtOnce);
  onTestFinished(() => counted.stop());
  return counted;
}

const limiter = createLimiter({ concurrency: 1, maxQueue: 1 });

test.each<[what: string, policy: GuardPolicy | false, connections: number]>([
  ["a bare signer", false, 64],
  ["a limiter of the caller", { limiter }, 256],
  ["the default policy", {}, 16],
  ["15 calls at once", { concurrency: 15 }, 16],
  ["17 calls at once", { concurrency: 17 }, 17],
])("for %s there are at most as many connections as there may be calls", async (_what, policy, expected) => {
  const { ask, connections, release } = await served(policy, false);
  const asked = Array.from({ length: expected + 8 }, () => ask());
  await vi.waitUntil(() => connections() >= expected, { timeout: 10_000 });
  await pause(50);
  expect(connections()).toBe(expected);
  release();
  expect(new Set(await Promise.all(asked))).toEqual(new Set([200]));
  expect(connections()).toBe(expected);
});

describe("a connection that was idle", () => {
  test.each([
    [19_999, 1],
    [20_000, 2],
  ])("for %d ms is used again only before 20 s: there were %d", async (idleMs, expected) => {
    const { ask, connections } = await served({});
    const now = { monotonic: performance.now(), wall: Date.now() };
    vi.spyOn(performance, "now").mockImplementation(() => now.monotonic);
    vi.spyOn(Date, "now").mockImplementation(() => now.wall);
    await ask();
    // The process was frozen, and its monotonic clock stood still.
    now.wall += idleMs;
    await ask();
    expect(connections()).toBe(expected);
  });
});

describe("after a call that failed", () => {
  const TIMEOUT = AbortSignal.abort(new SignerError("timeout", "no answer in time"));
  const USER = AbortSignal.abort(new Error("the user went away"));
  const CUT = Object.assign(new Error("cut"), { code: "UND_ERR_SOCKET" });

  test.each<[what: string, error: Error, signal: AbortSignal, expected: number]>([
    ["since it got no answer in time", new Error("aborted"), TIMEOUT, 2],
    ["since its connection was cut", CUT, new AbortController().signal, 2],
    ["since its caller gave up", new Error("aborted"), USER, 1],
    ["for another reason", new Error("refused"), new AbortController().signal, 1],
  ])(
    "%s, %o: the next call makes a connection only if the others are dead too",
    async (_what, error, signal, expected) => {
      const { dispatcher, ask, connections } = await served({});
      await ask();
      dispatcher.failed(error, readInstant(), signal);
      await ask();
      expect(connections()).toBe(expected);
    },
  );

  test("together with others, the connections are replaced once", async () => {
    const { dispatcher, ask, connections } = await served({});
    await ask();
    const startedAt = readInstant();
    await pause(5);
    dispatcher.failed(CUT, startedAt, USER);
    await ask();
    dispatcher.failed(CUT, startedAt, USER);
    await ask();
    expect(connections()).toBe(2);
  });
});
