import { describe, expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { untilAborted, withinDeadline } from "@signpost/core/adapter";

const never = new Promise<never>(() => {});

describe("withinDeadline", () => {
  test("settles like the work", async () => {
    const error = new Error("the work failed");
    expect(await withinDeadline(async () => "done", { deadlineMs: 1000 })).toBe("done");
    await expect(withinDeadline(() => Promise.reject(error), { deadlineMs: 1000 })).rejects.toBe(error);
  });

  test("rejects with timeout, and aborts the signal of the work", async () => {
    let given: AbortSignal | undefined;
    const call = withinDeadline((signal) => ((given = signal), never), { deadlineMs: 5, message: "too slow" });
    await expect(call).rejects.toMatchObject({ code: "timeout", transient: true, message: "too slow" });
    expect(given?.aborted).toBe(true);
  });

  test("rejects when the caller aborts, with the caller's reason as the cause", async () => {
    const controller = new AbortController();
    const call = withinDeadline(() => never, { deadlineMs: 60_000, signal: controller.signal });
    controller.abort("gone");
    await expect(call).rejects.toMatchObject({ code: "aborted", cause: "gone" });
  });

  test("does not begin for a caller that has aborted", async () => {
    let began = false;
    const run = async (): Promise<void> => void (began = true);
    await expect(withinDeadline(run, { deadlineMs: 5, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "aborted",
    });
    expect(began).toBe(false);
  });

  test("drops a late failure of the work", async () => {
    let fail: (error: Error) => void = () => {};
    const work = new Promise<never>((_resolve, reject) => (fail = reject));
    await expect(withinDeadline(() => work, { deadlineMs: 5 })).rejects.toMatchObject({ code: "timeout" });
    fail(new Error("late"));
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("untilAborted", () => {
  test("settles like the work, also without a signal", async () => {
    expect(await untilAborted(Promise.resolve(1), undefined)).toBe(1);
    expect(await untilAborted(Promise.resolve(1), new AbortController().signal)).toBe(1);
  });

  test("rejects as soon as the signal aborts, or immediately if it has aborted", async () => {
    const reason = new SignerError("closed", "the signer is closed");
    await expect(untilAborted(never, AbortSignal.abort("gone"))).rejects.toMatchObject({ code: "aborted" });
    const controller = new AbortController();
    const call = untilAborted(never, controller.signal);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  test("puts one listener on a signal that many calls share", async () => {
    const controller = new AbortController();
    let listeners = 0;
    const add = controller.signal.addEventListener.bind(controller.signal);
    controller.signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    const calls = Array.from({ length: 100 }, () => untilAborted(never, controller.signal));
    expect(listeners).toBe(1);
    controller.abort("gone");
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
  });
});
