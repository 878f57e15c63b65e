import { expect, onTestFinished, test, vi } from "vitest";
import { FreshStarts } from "../src/pool/fresh-starts.ts";

test.each([
  ["the wall clock, after the machine slept", 0, 1_000],
  ["the monotonic clock, where the other was set back", 1_000, -3_600_000],
])("a list of tokens is old after a second by %s", async (_what, monotonicMs, wallMs) => {
  const moved = { monotonic: 0, wall: 0 };
  const [monotonic, wall] = [performance.now(), Date.now()];
  vi.spyOn(performance, "now").mockImplementation(() => monotonic + moved.monotonic);
  vi.spyOn(Date, "now").mockImplementation(() => wall + moved.wall);
  onTestFinished(() => void vi.restoreAllMocks());
  let renewals = 0;
  const attachment = { owned: true, generation: 0, claimRenewal: () => true, renew: async () => (renewals += 1) > 0 };
  const list = { library: { manufacturer: "", description: "", version: "" }, tokens: [], unreadable: [] };
  const starts = new FreshStarts(attachment as never, { count: 0 } as never, async () => list);
  starts.attached();
  expect(await starts.lookAgain()).toBe(false);
  Object.assign(moved, { monotonic: monotonicMs, wall: wallMs });
  expect(await starts.lookAgain()).toBe(true);
  expect(await starts.lookAgain()).toBe(false);
  expect(renewals).toBe(1);
});
