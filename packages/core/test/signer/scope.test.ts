import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { CallScope, pause } from "../../src/signer/scope.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const URI = "test:key";
const CLOSED = new SignerError("closed", "the signer is closed");
const past = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

test("the time that is left counts down to the deadline, and is never less than 1 ms", async () => {
  const scope = new CallScope(URI, 1000, undefined);
  expect(scope.leftMs()).toBe(1000);
  await past(400);
  expect(scope.leftMs()).toBe(600);
  await past(10_000);
  expect(scope.leftMs()).toBe(1);
});

test("the deadline ends the call once it is watched, by one timer", async () => {
  const scope = new CallScope(URI, 1000, undefined);
  await past(400);
  expect(vi.getTimerCount()).toBe(0);
  scope.watchDeadline();
  scope.watchDeadline();
  expect(vi.getTimerCount()).toBe(1);
  await past(599);
  expect(scope.ending).toBeUndefined();
  await past(1);
  expect(scope.ending).toMatchObject({
    code: "timeout",
    message: "test:key: no signature within the deadline of 1000 ms",
  });
});

test("the caller's signal ends the call, and is left when the call is over", () => {
  const caller = new AbortController();
  const scope = new CallScope(URI, 1000, caller.signal);
  expect(getEventListeners(caller.signal, "abort")).toHaveLength(1);
  scope.watchDeadline();
  scope.dispose();
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  const reason = new Error("gone");
  const other = new CallScope(URI, 1000, caller.signal);
  caller.abort(reason);
  expect(other.ending).toMatchObject({ code: "aborted", cause: reason });
  expect(new CallScope(URI, 1000, caller.signal).ending).toMatchObject({ code: "aborted", cause: reason });
});

test("the first end counts, and only the last callback hears of it", () => {
  const scope = new CallScope(URI, 1000, undefined);
  const [first, last, late] = [vi.fn<() => void>(), vi.fn<() => void>(), vi.fn<() => void>()];
  scope.onEnd(first);
  scope.onEnd(last);
  scope.end(CLOSED);
  scope.end(new SignerError("timeout", "later"));
  expect([first.mock.calls, last.mock.calls]).toEqual([[], [[CLOSED]]]);
  scope.onEnd(late);
  expect(late.mock.calls).toEqual([[CLOSED]]);
  expect(scope.ending).toBe(CLOSED);
});

test("a callback that was let go does not hear of the end", () => {
  const scope = new CallScope(URI, 1000, undefined);
  const callback = vi.fn<() => void>();
  scope.onEnd(callback);
  scope.letGo();
  scope.end(CLOSED);
  expect(callback).not.toHaveBeenCalled();
});

test("a pause lasts its time, or until the call ends", async () => {
  const scope = new CallScope(URI, 1000, undefined);
  let over = false;
  const first = pause(300, scope).then(() => (over = true));
  await past(299);
  expect(over).toBe(false);
  await past(1);
  await first;
  const second = pause(300, scope).catch((error: unknown) => error);
  scope.end(CLOSED);
  expect(await second).toBe(CLOSED);
  // Only that of the deadline.
  expect(vi.getTimerCount()).toBe(1);
});

test("a pause that is longer than the call ends with the deadline", async () => {
  const scope = new CallScope(URI, 1000, undefined);
  const pausing = pause(5000, scope).catch((error: unknown) => error);
  await past(1000);
  expect(await pausing).toMatchObject({ code: "timeout" });
});
