import { createKeySet } from "@signpost/core";
import type { GuardedSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { expect, onTestFinished, test, vi } from "vitest";
import { measureLatency, probeFinding } from "../src/doctor/probe.ts";

// How long signatures take, and what doctor says of a probe.

/** A signer that takes so many milliseconds, one after the other. */
async function takingMs(...durations: readonly number[]): Promise<GuardedSigner> {
  const local = await openLocalSigner();
  let calls = 0;
  const sign: GuardedSigner["sign"] = async (...call) => {
    const signature = await local.sign(...call);
    const ms = durations[calls] ?? 0;
    calls += 1;
    await new Promise((later) => setTimeout(later, ms));
    return signature;
  };
  return { ...local, publicKey: local.publicKey, sign };
}

async function measured(durations: readonly number[]): Promise<unknown> {
  const signer = await takingMs(...durations);
  expect(createKeySet([{ signer }]).keys).toHaveLength(1);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const latency = measureLatency(signer, durations.length, new AbortController().signal);
  let isOver = false;
  void latency.then(() => (isOver = true));
  while (!isOver) {
    await vi.advanceTimersByTimeAsync(1);
    await new Promise((later) => setImmediate(later));
  }
  return latency;
}

test.each([
  [[30], { count: 1, p50: 30, p95: 30, max: 30 }],
  [[30, 10], { count: 2, p50: 10, p95: 30, max: 30 }],
  [[3, 1, 2], { count: 3, p50: 2, p95: 3, max: 3 }],
  // A sort of texts would put 10 before 9.
  [[9, 10, 8, 7], { count: 4, p50: 8, p95: 10, max: 10 }],
  [Array.from({ length: 20 }, (_, index) => index + 1), { count: 20, p50: 10, p95: 19, max: 20 }],
  [Array.from({ length: 21 }, (_, index) => index + 1), { count: 21, p50: 11, p95: 20, max: 21 }],
])("of %j ms, half take at most p50, 95 of 100 p95, and the slowest max", async (durations, expected) => {
  expect(await measured(durations)).toEqual(expected);
});

test("no signatures take no time", async () => {
  expect(await measured([])).toEqual({ count: 0, p50: 0, p95: 0, max: 0 });
});

test("a probe is fine, or a problem with what to do", () => {
  expect(probeFinding(undefined)).toMatchObject({ check: "probe", level: "ok" });
  const refused = probeFinding({ code: "access_denied", message: "not allowed" });
  const other = probeFinding({ code: "wrong_key", message: "another key" });
  expect(refused).toMatchObject({ check: "probe", level: "problem", text: "not allowed" });
  expect(other).toMatchObject({ check: "probe", level: "problem", text: "another key" });
  expect([JSON.stringify(refused), JSON.stringify(other)]).toEqual([
    expect.stringContaining("credentials that may sign with this key"),
    expect.stringContaining("Do not use this key until the cause is known"),
  ]);
});
