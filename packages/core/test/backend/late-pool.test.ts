import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inPoolOrHere, isPoolLate } from "@signpost/core/adapter";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** Work in the pool that the test ends. */
function pooled(): { readonly work: Promise<string>; end(result: string): void; fail(error: Error): void } {
  let end: (result: string) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const work = new Promise<string>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { work, end: (result) => end(result), fail: (error) => fail(error) };
}

/** Two turns of the event loop. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
}

/** The timer fires, and then its immediate. */
async function past250Ms(): Promise<void> {
  vi.advanceTimersByTime(250);
  await turns();
}

const here = (): string => "here";

test("work that the pool does in time is not done here", async () => {
  const { work, end } = pooled();
  const doHere = vi.fn<() => string>(here);
  const result = inPoolOrHere(work, doHere);
  vi.advanceTimersByTime(249);
  await turns();
  expect([doHere.mock.calls.length, isPoolLate()]).toEqual([0, false]);
  end("pool");
  expect(await result).toBe("pool");
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(1000);
  await turns();
  expect([doHere.mock.calls.length, isPoolLate()]).toEqual([0, false]);
});

test("work that the pool has not done within 250 ms is done here, and the pool is late until it has done it", async () => {
  const { work, end } = pooled();
  const doHere = vi.fn<() => string>(here);
  const result = inPoolOrHere(work, doHere);
  await past250Ms();
  expect(await result).toBe("here");
  expect([doHere.mock.calls.length, isPoolLate()]).toEqual([1, true]);
  end("pool");
  await turns();
  expect(isPoolLate()).toBe(false);
});

test("the pool is late until all of it is done", async () => {
  const [one, other] = [pooled(), pooled()];
  const results = [inPoolOrHere(one.work, here), inPoolOrHere(other.work, here)];
  await past250Ms();
  expect(await Promise.all(results)).toEqual(["here", "here"]);
  one.end("pool");
  await turns();
  expect(isPoolLate()).toBe(true);
  other.fail(new Error("too late to matter"));
  await turns();
  expect(isPoolLate()).toBe(false);
});

test("a result that arrived while the event loop was busy is read first", async () => {
  const { work, end } = pooled();
  const doHere = vi.fn<() => string>(here);
  const result = inPoolOrHere(work, doHere);
  // The timer fires, and the result is there before its immediate.
  vi.advanceTimersByTime(250);
  end("pool");
  expect(await result).toBe("pool");
  await turns();
  expect(doHere).not.toHaveBeenCalled();
});

test.each<[where: string, fail: (work: ReturnType<typeof pooled>) => void, doHere: () => string]>([
  ["in the pool", ({ fail }) => fail(new Error("failed")), here],
  [
    "here",
    () => undefined,
    () => {
      throw new Error("failed");
    },
  ],
])("work that fails %s rejects", async (_where, fail, doHere) => {
  const work = pooled();
  const result = inPoolOrHere(work.work, doHere).catch((error: unknown) => error);
  fail(work);
  await past250Ms();
  expect(await result).toEqual(new Error("failed"));
  work.end("pool");
  await turns();
  expect(isPoolLate()).toBe(false);
});
