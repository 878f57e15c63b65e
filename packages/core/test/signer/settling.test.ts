import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { CallerEnding } from "../../src/signer/attempt-controller.ts";
import { createSettling, type Settling } from "../../src/signer/settling.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const SIGNATURE = new Uint8Array(64);
const OUT_OF_TIME = new SignerError("timeout", "no answer in time");

interface Hanging {
  readonly outcome: Promise<unknown>;
  readonly signal: AbortSignal;
  abort(): void;
  answer(): void;
  refuse(error: Error): void;
}

/** A call of a backend that answers when the test says so. */
function hang(settling: Settling): Hanging {
  const caller = new AbortController();
  let answer: (signature: Uint8Array) => void = () => undefined;
  let refuse: (error: Error) => void = () => undefined;
  const call = new Promise<Uint8Array>((resolve, reject) => {
    answer = resolve;
    refuse = reject;
  });
  const outcome = settling.run(() => call, new CallerEnding(caller.signal)).catch((error: unknown) => error);
  return {
    outcome,
    signal: caller.signal,
    abort: () => caller.abort(OUT_OF_TIME),
    answer: () => answer(SIGNATURE),
    refuse: (error) => refuse(error),
  };
}

const past = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe("a call", () => {
  test("that settles leaves nothing behind", async () => {
    const settling = createSettling();
    const call = hang(settling);
    call.answer();
    expect(await call.outcome).toBe(SIGNATURE);
    expect(getEventListeners(call.signal, "abort")).toEqual([]);
    expect([settling.leftBehind, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test("that throws or rejects fails with its error", async () => {
    const settling = createSettling();
    const error = new Error("refused");
    const thrown = settling.run(() => {
      throw error;
    }, undefined);
    await expect(thrown).rejects.toBe(error);
    await expect(settling.run(async () => Promise.reject(error), undefined)).rejects.toBe(error);
  });

  test("that settles within a second of its signal gives its answer", async () => {
    const settling = createSettling();
    const call = hang(settling);
    call.abort();
    await past(999);
    expect(settling.leftBehind).toBe(0);
    call.answer();
    expect(await call.outcome).toBe(SIGNATURE);
    await past(1000);
    expect([settling.leftBehind, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test("that has not settled a second after its signal is left behind until it does", async () => {
    const settling = createSettling();
    const calls = [hang(settling), hang(settling)];
    for (const call of calls) call.abort();
    await past(1000);
    expect(await calls[0]?.outcome).toBe(OUT_OF_TIME);
    expect(settling.leftBehind).toBe(2);
    calls[0]?.answer();
    await past(0);
    expect(settling.leftBehind).toBe(1);
    calls[1]?.refuse(new Error("at last"));
    await past(0);
    expect(settling.leftBehind).toBe(0);
  });
});

describe("calls that have not settled after their signal", () => {
  const refusal = (count: number): unknown =>
    expect.objectContaining({
      code: "unavailable",
      message: `the backend has not answered ${count} earlier calls; no more are sent until one of them settles`,
    });

  /** How many calls go through before one is refused. */
  function fill(settling: Settling): Hanging[] {
    const calls: Hanging[] = [];
    for (let count = 0; count < 100; count += 1) {
      const call = hang(settling);
      call.abort();
      calls.push(call);
    }
    return calls;
  }

  test.each<[what: string, allow: readonly number[], expected: number]>([
    ["by default", [], 16],
    ["if one guard allows fewer", [4], 4],
    ["if one guard allows more", [40], 40],
    ["if several guards share the signer", [4, 40, 8], 40],
  ])("%s %j: there may be %d, and then no more are made", async (_what, allow, expected) => {
    const settling = createSettling();
    for (const count of allow) settling.allow(count);
    const calls = fill(settling);
    expect(await calls[expected]?.outcome).toEqual(refusal(expected));
    await past(1000);
    expect(await calls[expected - 1]?.outcome).toBe(OUT_OF_TIME);
    expect(settling.leftBehind).toBe(expected);
  });

  test("make room when one of them settles", async () => {
    const settling = createSettling();
    const calls = fill(settling);
    const refused = vi.fn<() => Promise<Uint8Array>>(async () => SIGNATURE);
    await expect(settling.run(refused, undefined)).rejects.toEqual(refusal(16));
    expect(refused).not.toHaveBeenCalled();
    calls[0]?.answer();
    await past(0);
    expect(await settling.run(refused, undefined)).toBe(SIGNATURE);
  });

  test("are not those that only take long", async () => {
    const settling = createSettling();
    for (let count = 0; count < 100; count += 1) hang(settling);
    await past(10_000);
    expect(await settling.run(async () => SIGNATURE, undefined)).toBe(SIGNATURE);
  });
});
