import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError, SignpostError } from "@signpost/core";
import { callReporter } from "../src/program/calls.ts";
import { createCounters } from "../src/program/metrics.ts";
import { createCallLimit } from "../src/service/call-limit.ts";
import { untilEnded } from "../src/service/call-signal.ts";

// Calls in progress: how many, until when, and what is written of them.

describe("the limit of calls", () => {
  test("gives a place back, and no more than there are", () => {
    const limit = createCallLimit(2);
    const [first, second] = [limit.enter(), limit.enter()];
    expect([first, second, limit.enter()]).toEqual([expect.any(Function), expect.any(Function), undefined]);
    first?.();
    expect(limit.enter()).toBeTypeOf("function");
    expect(limit.enter()).toBeUndefined();
  });

  test("is idle when the last call has ended, for all that wait, each time", async () => {
    const limit = createCallLimit(2);
    await limit.idle();
    const leave = [limit.enter(), limit.enter()];
    const ended: number[] = [];
    const waiting = [1, 2].map((which) => limit.idle().then(() => ended.push(which)));
    leave[0]?.();
    await new Promise(setImmediate);
    expect(ended).toEqual([]);
    leave[1]?.();
    await Promise.all(waiting);
    expect(ended).toEqual([1, 2]);
    const again = limit.enter();
    const idle = limit.idle();
    again?.();
    await idle;
  });
});

describe("the signal of a call", () => {
  class FakeCall extends EventEmitter {
    cancelled = false;
    deadline: Date | number = Number.POSITIVE_INFINITY;
    getDeadline(): Date | number {
      return this.deadline;
    }
  }
  let call: FakeCall;
  const until = <Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> =>
    untilEnded(call as unknown as Parameters<typeof untilEnded>[0], work);
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    call = new FakeCall();
  });
  afterEach(() => vi.useRealTimers());

  /** What the work has, while it goes on. */
  function begin(): { readonly signal: AbortSignal; end(): Promise<unknown> } {
    let finish = (): void => undefined;
    let given = AbortSignal.abort();
    const ended = until(async (signal) => {
      given = signal;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return "token";
    });
    return {
      signal: given,
      end: () => {
        finish();
        return ended;
      },
    };
  }

  test("aborts at the deadline, and not before", async () => {
    call.deadline = new Date(Date.now() + 300);
    const { signal, end } = begin();
    vi.advanceTimersByTime(299);
    expect(signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(signal.aborted).toBe(true);
    expect(await end()).toBe("token");
  });

  test("of a deadline that is over aborts at once", async () => {
    call.deadline = Date.now() - 5;
    const { signal, end } = begin();
    vi.advanceTimersByTime(1);
    expect(signal.aborted).toBe(true);
    await end();
  });

  test.each([
    ["without a deadline", Number.POSITIVE_INFINITY, 0],
    ["with the longest deadline of a timer", 2_147_483_647, 1],
    ["with a longer one", 2_147_483_648, 0],
  ])("%s has a timer only if Node has one", async (_what, ms, timers) => {
    call.deadline = Date.now() + ms;
    const { signal, end } = begin();
    expect(vi.getTimerCount()).toBe(timers);
    vi.advanceTimersByTime(60_000);
    expect(signal.aborted).toBe(false);
    await end();
  });

  test("aborts when the client cancels", async () => {
    const { signal, end } = begin();
    expect(signal.aborted).toBe(false);
    call.emit("cancelled");
    expect(signal.aborted).toBe(true);
    await end();
  });

  test("of a call that was cancelled before lets no work begin", async () => {
    call.cancelled = true;
    const work = vi.fn<() => Promise<string>>(async () => "token");
    await expect(until(work)).rejects.toMatchObject({ code: "aborted" });
    expect(work).not.toHaveBeenCalled();
    expect(call.listenerCount("cancelled")).toBe(0);
  });

  test("leaves no timer and no listener, also if the work fails", async () => {
    call.deadline = Date.now() + 300;
    await expect(until(() => Promise.reject(new TypeError("failed")))).rejects.toThrow("failed");
    expect([vi.getTimerCount(), call.listenerCount("cancelled")]).toEqual([0, 0]);
  });
});

describe("a call that has ended", () => {
  const SIGNED = { version: "v1", method: "Sign", code: "ok", ms: 1, jti: "1", kid: "sa" } as const;

  function reporter(write: (line: string) => Promise<void> = async () => undefined) {
    const log: unknown[] = [];
    const lines: string[] = [];
    const counters = createCounters();
    const audit = {
      write: async (line: string) => {
        lines.push(line);
        await write(line);
      },
      reopen: async () => undefined,
      close: async () => undefined,
    };
    const report = callReporter(counters, audit, (...line) => void log.push(line));
    const counted = (): unknown => counters.samples()[0]?.samples;
    return { report, log, lines, counted };
  }

  test("well is counted, and its token has a line", async () => {
    const { report, log, lines, counted } = reporter();
    await report(SIGNED);
    expect(lines.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ jti: "1", kid: "sa" })]);
    expect(counted()).toEqual([{ labels: { method: "Sign", version: "v1", code: "ok" }, value: 1 }]);
    expect(log).toEqual([]);
  });

  test("without a token has no line", async () => {
    const { report, lines, counted } = reporter();
    await report({ ...SIGNED, method: "FetchKeys" });
    expect(lines).toEqual([]);
    expect(counted()).toMatchObject([{ labels: { method: "FetchKeys" }, value: 1 }]);
  });

  test("with an error is logged, with its code", async () => {
    const { report, log, counted } = reporter();
    await report({ ...SIGNED, code: "unavailable", error: new SignerError("unavailable", "away") });
    const details = { code: "unavailable", method: "Sign", version: "v1" };
    expect(log).toEqual([["warn", "call_failed", "away", details]]);
    expect(counted()).toEqual([{ labels: details, value: 1 }]);
  });

  test("and whose line is not written, is an error that is counted once", async () => {
    const failure = new SignpostError("audit_failed", "disk");
    const { report, log, counted } = reporter(() => Promise.reject(failure));
    await expect(report(SIGNED)).rejects.toBe(failure);
    expect(log).toEqual([["error", "audit_failed", "disk", { code: "audit_failed" }]]);
    expect(counted()).toEqual([{ labels: { method: "Sign", version: "v1", code: "audit_failed" }, value: 1 }]);
  });

  test("needs no audit", async () => {
    const counters = createCounters();
    await callReporter(counters, undefined, () => undefined)(SIGNED);
    expect(counters.samples()[0]?.samples).toHaveLength(1);
  });
});
