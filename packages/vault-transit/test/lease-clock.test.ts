import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readInstant } from "@signpost/core/adapter";
import { createLeaseClock } from "../src/lease-clock.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

test("a lease is due at two thirds, and over at its end", async () => {
  const onDue = vi.fn<() => void>();
  const clock = createLeaseClock(onDue);
  expect([clock.isDue(), clock.isOver()]).toEqual([false, false]);
  clock.start(3000, readInstant());
  await vi.advanceTimersByTimeAsync(1999);
  expect([clock.isDue(), clock.isOver(), onDue.mock.calls.length]).toEqual([false, false, 0]);
  await vi.advanceTimersByTimeAsync(1);
  expect([clock.isDue(), clock.isOver(), onDue.mock.calls.length]).toEqual([true, false, 1]);
  await vi.advanceTimersByTimeAsync(999);
  expect(clock.isOver()).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(clock.isOver()).toBe(true);
});

test("a renewal that failed is made again after a second", async () => {
  const onDue = vi.fn<() => void>();
  const clock = createLeaseClock(onDue);
  clock.start(3000, readInstant());
  await vi.advanceTimersByTimeAsync(2000);
  clock.postpone();
  await vi.advanceTimersByTimeAsync(999);
  expect([clock.isDue(), onDue.mock.calls.length]).toEqual([false, 1]);
  await vi.advanceTimersByTimeAsync(1);
  expect([clock.isDue(), onDue.mock.calls.length]).toEqual([true, 2]);
  clock.postpone();
  clock.start(3000, readInstant());
  await vi.advanceTimersByTimeAsync(2000);
  expect(onDue).toHaveBeenCalledTimes(3);
});

test("a lease longer than a timer can be is due at its own time", async () => {
  const onDue = vi.fn<() => void>();
  const clock = createLeaseClock(onDue);
  const longest = 2_147_483_647;
  clock.start(3 * longest, readInstant());
  await vi.advanceTimersByTimeAsync(longest);
  expect(onDue).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(longest + 20);
  expect(onDue).toHaveBeenCalledOnce();
});

test("a lease that began before is due the sooner, and at once if its time is past", async () => {
  const onDue = vi.fn<() => void>();
  const clock = createLeaseClock(onDue);
  const since = readInstant();
  await vi.advanceTimersByTimeAsync(2500);
  clock.start(3000, since);
  expect(clock.isDue()).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(onDue).toHaveBeenCalledOnce();
});

test("a lease without an end, and a clock that was stopped, are never due", async () => {
  const onDue = vi.fn<() => void>();
  const clock = createLeaseClock(onDue);
  clock.start(3000, readInstant());
  clock.start(Number.POSITIVE_INFINITY, readInstant());
  expect(vi.getTimerCount()).toBe(0);
  clock.start(3000, readInstant());
  expect(vi.getTimerCount()).toBe(1);
  clock.stop();
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([clock.isDue(), clock.isOver(), onDue.mock.calls.length]).toEqual([false, false, 0]);
});
