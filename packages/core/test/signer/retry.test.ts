import { describe, expect, test } from "vitest";
import { retryDelayMs } from "../../src/signer/retry.ts";

const least = (): number => 0;
const most = (): number => 1;

describe("the pause before the next attempt", () => {
  test.each([
    [1, 12.5, 25],
    [2, 25, 50],
    [3, 50, 100],
    [6, 400, 800],
    [7, 500, 1000],
    [100, 500, 1000],
  ])("after attempt %d of a lost connection is from %d to %d ms", (attempts, shortest, longest) => {
    expect(retryDelayMs(attempts, "unavailable", least)).toBe(shortest);
    expect(retryDelayMs(attempts, "unavailable", most)).toBe(longest);
  });

  test.each([
    [1, 50, 100],
    [2, 100, 200],
    [4, 400, 800],
    [5, 500, 1000],
  ])("after attempt %d of a throttled call is from %d to %d ms", (attempts, shortest, longest) => {
    expect(retryDelayMs(attempts, "throttled", least)).toBe(shortest);
    expect(retryDelayMs(attempts, "throttled", most)).toBe(longest);
  });

  test("is random, so that replicas that failed together do not come back together", () => {
    const pauses = Array.from({ length: 50 }, () => retryDelayMs(7, "timeout"));
    expect(new Set(pauses).size).toBeGreaterThan(40);
    expect(pauses.filter((pause) => pause < 500 || pause > 1000)).toEqual([]);
  });
});
