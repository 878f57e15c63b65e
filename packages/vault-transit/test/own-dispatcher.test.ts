import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLimiter, type GuardPolicy } from "@signpost/core";
import { planOpening, readInstant } from "@signpost/core/adapter";
import { countConnections, type CountedDispatcher } from "@signpost/test-backends/counted-connections";
import { createOwnDispatcher, type OwnDispatcher } from "../src/own-dispatcher.ts";

async function served(policy: GuardPolicy | false, answersAtOnce = true): Promise<CountedDispatcher<OwnDispatcher>> {
  const counted = await countConnections(await createOwnDispatcher({}, planOpening({ policy })), answersAtOnce);
  onTestFinished(() => counted.stop());
  return counted;
}

const limiter = createLimiter({ concurrency: 1, maxQueue: 1 });

test.each<[what: string, policy: GuardPolicy | false, connections: number]>([
  ["a bare signer", false, 256],
  ["a limiter of the caller", { limiter }, 256],
  ["the default policy", {}, 18],
  ["15 calls at once", { concurrency: 15 }, 18],
  ["17 calls at once", { concurrency: 17 }, 19],
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

test.each([
  ["UND_ERR_SOCKET", 2],
  ["ENOTFOUND", 1],
])("after a call that failed with %s, there are %i connections", async (code, expected) => {
  const { dispatcher, ask, connections } = await served({});
  await ask();
  dispatcher.failed(Object.assign(new Error("failed"), { code }), readInstant(), new AbortController().signal);
  await ask();
  expect(connections()).toBe(expected);
});
