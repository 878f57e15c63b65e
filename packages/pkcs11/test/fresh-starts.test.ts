import { expect, onTestFinished, test, vi } from "vitest";
import { FreshStarts } from "../src/pool/fresh-starts.ts";
import { CommandError } from "../src/wire/command-error.ts";

const list = { library: { manufacturer: "", description: "", version: "" }, tokens: [], unreadable: [] };

interface Created {
  readonly starts: FreshStarts;
  readonly renewals: () => number;
  /** Whether each renewal finalized the module, and of which generation it was. */
  readonly renewed: readonly (readonly [finalize: boolean, generation: number])[];
}

function create({ users = 1, generation = 0 } = {}): Created {
  const renewed: [boolean, number][] = [];
  const renew = async (...renewal: [boolean, number]): Promise<boolean> => renewed.push(renewal) > 0;
  const attachment = { owned: true, users, generation, claimRenewal: () => true, renew };
  const starts = new FreshStarts(attachment as never, { count: 0 } as never, async () => list);
  return { starts, renewals: () => renewed.length, renewed };
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
  starts.attached(5_000);
  expect(await starts.lookAgain()).toBe(false);
  Object.assign(moved, { monotonic: monotonicMs, wall: wallMs });
  expect(await starts.lookAgain()).toBe(true);
  expect(await starts.lookAgain()).toBe(false);
  expect(renewals()).toBe(1);
});

test("a module that started fast is asked a second time at once, and not a third", async () => {
  const { starts, renewals } = create();
  starts.attached(4_999);
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

test.each([
  ["a module that was finalized, as it was when the command failed", 0x190, 3, [false, 3]],
  ["a module whose failure has no generation, as it is now", 0x190, undefined, [false, 7]],
  ["a module that fails, as it was when the command failed", 0x30, 7, [true, 7]],
])("renews %s", async (_what, code, generation, renewal) => {
  const { starts, renewed } = create({ generation: 7 });
  await starts.reinitialize(new CommandError({ kind: "cryptoki", call: "C_Sign", code, generation }));
  expect(renewed).toEqual([renewal]);
});
