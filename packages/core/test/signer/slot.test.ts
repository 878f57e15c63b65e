import { describe, expect, test } from "vitest";
import type { Limiter } from "@signpost/core";
import { callsWait, freeSlot, giveBack } from "../../src/signer/slot.ts";

// What a custom limiter may do.

const { signal } = new AbortController();
const limiter = (members: Partial<Limiter>): Limiter => ({ active: 0, queued: 0, acquire: () => () => {}, ...members });
const failing = (): never => {
  throw new Error("a fault");
};

describe("a free slot", () => {
  test("is taken at once, without waiting, and given back by its function", async () => {
    const asked: unknown[] = [];
    let given = 0;
    const acquire: Limiter["acquire"] = (...call) => {
      asked.push(call);
      return () => void (given += 1);
    };
    const release = await freeSlot(limiter({ acquire }), signal);
    expect(asked).toEqual([[signal, 0]]);
    release?.();
    expect(given).toBe(1);
  });

  test("may come as a promise", async () => {
    expect(await freeSlot(limiter({ acquire: async () => () => {} }), signal)).toBeTypeOf("function");
  });

  test.each<[what: string, acquire: unknown]>([
    ["throws", failing],
    ["rejects", async () => failing()],
    ["returns nothing", () => undefined],
    ["returns an object", () => ({ release: () => {} })],
  ])("is none if the limiter %s", async (_what, acquire) => {
    expect(await freeSlot(limiter({ acquire: acquire as Limiter["acquire"] }), signal)).toBeUndefined();
  });
});

test("calls wait if some are queued, or if the limiter cannot tell", () => {
  expect([0, 1, 7].map((queued) => callsWait(limiter({ queued })))).toEqual([false, true, true]);
  const silent = Object.defineProperty(limiter({}), "queued", { get: failing });
  expect(callsWait(silent)).toBe(true);
});

test.each<[what: string, release: () => unknown]>([
  ["throws", failing],
  ["rejects", async () => failing()],
  ["returns nothing", () => undefined],
])("giving a slot back to a limiter that %s ends nothing", async (_what, release) => {
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  process.on("unhandledRejection", note);
  expect(() => giveBack(release)).not.toThrow();
  for (let turn = 0; turn < 5; turn += 1) await new Promise((later) => setImmediate(later));
  process.off("unhandledRejection", note);
  expect(rejections).toEqual([]);
});
