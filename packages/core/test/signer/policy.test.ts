import { describe, expect, test } from "vitest";
import { createLimiter, type GuardPolicy } from "@signpost/core";
import { concurrencyOf } from "../../src/signer/limiter.ts";
import { resolvePolicy } from "../../src/signer/policy.ts";

/** The number of a limiter's slots, and of those who may wait for one. */
async function sizesOf(
  policy: GuardPolicy,
  defaults: GuardPolicy = {},
): Promise<readonly [slots: number, places: number]> {
  const { limiter } = resolvePolicy(policy, defaults);
  const slots = concurrencyOf(limiter) ?? Number.NaN;
  for (let slot = 0; slot < slots; slot += 1) await limiter.acquire();
  const waiting: Promise<unknown>[] = [];
  for (;;) {
    const before = limiter.queued;
    const next = Promise.resolve(limiter.acquire()).catch(() => undefined);
    if (limiter.queued === before) break;
    waiting.push(next);
  }
  return [slots, waiting.length];
}

describe("a policy", () => {
  test("that says nothing has the defaults", async () => {
    expect(resolvePolicy({}, {})).toMatchObject({
      deadlineMs: 5000,
      attemptTimeoutMs: 2000,
      maxAttempts: 3,
      hedgeAfterMs: undefined,
    });
    expect(await sizesOf({})).toEqual([16, 1000]);
  });

  const OWN = { deadlineMs: 7000, attemptTimeoutMs: 800, maxAttempts: 5, concurrency: 3, maxQueue: 4 };

  test("has the adapter's defaults before those", async () => {
    const { concurrency, maxQueue, ...others } = OWN;
    expect(resolvePolicy({}, OWN)).toMatchObject(others);
    expect(await sizesOf({}, OWN)).toEqual([concurrency, maxQueue]);
    // Undefined is no choice.
    expect(resolvePolicy({ deadlineMs: undefined }, OWN).deadlineMs).toBe(7000);
  });

  test("has what it says before those", async () => {
    const other = { deadlineMs: 1, attemptTimeoutMs: 1, maxAttempts: 1, concurrency: 1, maxQueue: 0 };
    const { concurrency, maxQueue, ...others } = OWN;
    expect(resolvePolicy(OWN, other)).toMatchObject(others);
    expect(await sizesOf(OWN, other)).toEqual([concurrency, maxQueue]);
  });

  test.each(["deadlineMs", "attemptTimeoutMs", "maxAttempts", "concurrency", "maxQueue"])(
    "does not choose the default of %s by null",
    (name) => {
      expect(() => resolvePolicy({ [name]: null }, OWN)).toThrow(
        expect.objectContaining({ name: "ConfigurationError" }),
      );
    },
  );

  test("has its own limiter, unchanged", () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 0 });
    expect(resolvePolicy({ limiter }, OWN).limiter).toBe(limiter);
  });

  test.each([{ concurrency: 1 }, { maxQueue: 0 }, { concurrency: 1, maxQueue: 0 }])(
    "has a limiter or %o, not both",
    (sizes) => {
      const limiter = createLimiter({ concurrency: 1, maxQueue: 0 });
      expect(() => resolvePolicy({ limiter, ...sizes }, {})).toThrow(
        expect.objectContaining({ argument: "policy.limiter", message: expect.stringContaining("not both") }),
      );
    },
  );

  test.each([
    [null, "null"],
    [{}, "an object"],
    [{ acquire: true }, "an object"],
    [7, "7"],
  ])("has no limiter that is %j", (limiter, got) => {
    expect(() => resolvePolicy({ limiter: limiter as never }, {})).toThrow(
      expect.objectContaining({ argument: "policy.limiter", message: expect.stringMatching(`got ${got}$`) }),
    );
  });

  test.each([
    [1999, true],
    [2000, false],
    [2001, false],
  ])("hedges after %d ms, which is before an attempt of 2000 ms ends: %s", (hedgeAfterMs, isTaken) => {
    const resolve = (): unknown => resolvePolicy({ hedgeAfterMs }, {}).hedgeAfterMs;
    if (isTaken) return expect(resolve()).toBe(hedgeAfterMs);
    expect(resolve).toThrow(
      expect.objectContaining({
        argument: "policy.hedgeAfterMs",
        message: expect.stringContaining("expected less than attemptTimeoutMs (2000)"),
      }),
    );
  });
});
