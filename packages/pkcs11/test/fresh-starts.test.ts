import { expect, onTestFinished, test, vi } from "vitest";
import { FreshStarts } from "../src/pool/fresh-starts.ts";

const list = { library: { manufacturer: "", description: "", version: "" }, tokens: [], unreadable: [] };

function create({ users = 1 } = {}): { readonly starts: FreshStarts; readonly renewals: () => number } {
  let renewals = 0;
  const renew = async (): Promise<boolean> => (renewals += 1) > 0;
  const attachment = { owned: true, users, generation: 0, claimRenewal: () => true, renew };
  const starts = new FreshStarts(attachment as never, { count: 0 } as never, async () => list);
  return { starts, renewals: () => renewals };
}

test.each([
  ["the wall clock, after the machine slept", 0, 1_000],
  ["the monotonic clock, where the other was set back", 1_000, -3_600_000],
])("a list of tokens is old after a second by %s", async (_what, monotonicMs, wallMs) => {
  const moved = { monotonic: 0, wall: 0 };
  // Whole numbers, of which sums and differences are exact.
  const [monotonic, wall] = [Math.round(performance.now()), Date.now()];
  vi.spyOn(performance, "now").mockImplementation(() => monotonic + moved.monotonic);
  vi.spyOn(Date, "now").mockImplementation(() => wall + moved.wall);
  onTestFinished(() => void vi.restoreAllMocks());
  const { starts, renewals } = create();
  starts.attached(2_000);
  expect(await starts.lookAgain()).toBe(false);
  Object.assign(moved, { monotonic: monotonicMs, wall: wallMs });
  expect(await starts.lookAgain()).toBe(true);
  expect(await starts.lookAgain()).toBe(false);
  expect(renewals()).toBe(1);
});

test("a module that started fast is asked a second time at once, and not a third", async () => {
  const { starts, renewals } = create();
  starts.attached(20);
  expect(await starts.lookAgain()).toBe(true);
  expect(await starts.lookAgain()).toBe(false);
  expect(renewals()).toBe(1);
});

test.each([
  ["another thread has signers on it", create({ users: 2 })],
  ["a token of it is in use", create()],
])("a module that started fast is left alone where %s", async (what, { starts, renewals }) => {
  if (what.includes("in use")) starts.members.add({} as never);
  starts.attached(20);
  expect(await starts.lookAgain()).toBe(false);
  expect(renewals()).toBe(0);
});
