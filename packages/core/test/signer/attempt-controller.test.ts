import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { AttemptController, CallerEnding } from "../../src/signer/attempt-controller.ts";

describe("the end of an attempt", () => {
  test("is told once to each callback, in their order, and only the first reason counts", () => {
    const ending = new AttemptController();
    const told: unknown[] = [];
    for (const name of ["a", "b", "c"]) ending.onEnd(() => told.push([name, ending.reason]));
    expect([ending.aborted, ending.reason, told]).toEqual([false, undefined, []]);
    ending.abort("first");
    ending.abort("second");
    expect([ending.aborted, ending.reason]).toEqual([true, "first"]);
    expect(told).toEqual(["a", "b", "c"].map((name) => [name, "first"]));
  });

  test("is told at once to a callback that comes after it, which nothing has to remove", () => {
    const ending = new AttemptController();
    ending.abort("reason");
    const callback = vi.fn<() => void>();
    const letGo = ending.onEnd(callback);
    expect(callback).toHaveBeenCalledOnce();
    letGo();
    ending.abort("again");
    expect(callback).toHaveBeenCalledOnce();
  });

  test.each([0, 1, 2])("is not told to a callback that was removed: the one at %d", (removed) => {
    const ending = new AttemptController();
    const callbacks = [0, 1, 2].map(() => vi.fn<() => void>());
    const removals = callbacks.map((callback) => ending.onEnd(callback));
    removals[removed]?.();
    removals[removed]?.();
    ending.abort("reason");
    expect(callbacks.map((callback) => callback.mock.calls.length)).toEqual(
      [0, 1, 2].map((index) => (index === removed ? 0 : 1)),
    );
  });

  test("is told to one of two uses of the same callback if the other is removed", () => {
    const ending = new AttemptController();
    const callback = vi.fn<() => void>();
    const letGo = ending.onEnd(callback);
    ending.onEnd(callback);
    letGo();
    ending.abort("reason");
    expect(callback).toHaveBeenCalledOnce();
  });

  test("is not told to a callback that another one removes at the end", () => {
    const ending = new AttemptController();
    const last = vi.fn<() => void>();
    const removals: (() => void)[] = [];
    ending.onEnd(() => removals.forEach((letGo) => letGo()));
    removals.push(ending.onEnd(last));
    ending.abort("reason");
    expect(last).not.toHaveBeenCalled();
  });
});

describe("the signal of an attempt", () => {
  test("is made when it is read, and once", () => {
    const ending = new AttemptController();
    expect(ending.madeSignal).toBeUndefined();
    const { signal } = ending;
    expect([ending.signal, ending.madeSignal]).toEqual([signal, signal]);
    expect(signal.aborted).toBe(false);
  });

  test("aborts with the attempt, for its reason", () => {
    const ending = new AttemptController();
    const { signal } = ending;
    ending.abort("reason");
    expect([signal.aborted, signal.reason]).toEqual([true, "reason"]);
  });

  test("has aborted if it is read after the end", () => {
    const ending = new AttemptController();
    ending.abort("reason");
    expect([ending.signal.aborted, ending.signal.reason]).toEqual([true, "reason"]);
  });
});

test("the caller's signal is the signal of its end, with one listener while something waits", () => {
  const controller = new AbortController();
  const ending = new CallerEnding(controller.signal);
  const [kept, removed] = [vi.fn<() => void>(), vi.fn<() => void>()];
  ending.onEnd(kept);
  ending.onEnd(removed)();
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
  expect([ending.signal, ending.reason]).toEqual([controller.signal, undefined]);
  controller.abort("reason");
  expect([ending.reason, kept.mock.calls.length, removed.mock.calls.length]).toEqual(["reason", 1, 0]);
});
