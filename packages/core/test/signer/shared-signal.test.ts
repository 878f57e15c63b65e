import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLimiter, guardSigner } from "@signpost/core";
import { createSigner, onAbort, untilAborted, withinDeadline } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import { hangs, scriptedSigner, signsAfter } from "../support/scripted-signer.ts";

const DIGEST = new Uint8Array(32).fill(7);
const CALLS = 50;

let warnings: Error[] = [];
const onWarning = (warning: Error): void => {
  warnings.push(warning);
};
beforeEach(() => {
  warnings = [];
  process.on("warning", onWarning);
});
afterEach(() => {
  process.off("warning", onWarning);
});

/** Warnings are emitted in a later tick. */
const warned = async (): Promise<Error[]> => {
  await new Promise((resolve) => setTimeout(resolve, 10));
  return warnings;
};

describe("a signal that many calls share", () => {
  test("carries one listener of a guard, and none when they are over", async () => {
    const guard = guardSigner(scriptedSigner(signsAfter(5)).signer);
    const { signal } = new AbortController();
    const calls = Promise.all(Array.from({ length: CALLS }, () => guard.sign(DIGEST, { signal })));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await calls;
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(await warned()).toEqual([]);
  });

  test.each<[string, (signal: AbortSignal, answer: Promise<Uint8Array>) => Promise<unknown>]>([
    ["onAbort", async (signal, answer) => answer.finally(onAbort(signal, () => {}))],
    ["untilAborted", (signal, answer) => untilAborted(answer, signal)],
    ["withinDeadline", (signal, answer) => withinDeadline(() => answer, { deadlineMs: 60_000, signal })],
    [
      "a bare signer with a bound of its calls",
      (signal, answer) => {
        const { uri, publicKey } = scriptedSigner(hangs).signer;
        const backend = { uri, publicKey, callTimeoutMs: 60_000, close: async () => {} };
        return createSigner({ ...backend, signDigest: () => answer }).sign(DIGEST, { signal });
      },
    ],
  ])("carries one listener of %s, and none when they are over", async (_name, call) => {
    const { signal } = new AbortController();
    let answered: (signature: Uint8Array) => void = () => {};
    const answer = new Promise<Uint8Array>((resolve) => (answered = resolve));
    const calls = Promise.all(Array.from({ length: CALLS }, () => call(signal, answer)));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    answered(new Uint8Array(64));
    await calls;
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(await warned()).toEqual([]);
  });

  test("ends every one of them, queued or started, and gives the slots back", async () => {
    const limiter = createLimiter({ concurrency: 4, maxQueue: 1000 });
    const guard = guardSigner(scriptedSigner(signsAfter(5)).signer, { limiter });
    const controller = new AbortController();
    const { signal } = controller;
    const calls = Promise.all(Array.from({ length: 1000 }, () => failure(guard.sign(DIGEST, { signal }))));
    controller.abort("storm");
    for (const error of await calls) expect(error).toMatchObject({ code: "aborted", cause: "storm" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect({ active: limiter.active, queued: limiter.queued }).toEqual({ active: 0, queued: 0 });
    expect(await warned()).toEqual([]);
  });

  test("goes on for the others when one of them is over", async () => {
    const guard = guardSigner(scriptedSigner(signsAfter(5), hangs).signer);
    const controller = new AbortController();
    const { signal } = controller;
    const first = guard.sign(DIGEST, { signal });
    const second = failure(guard.sign(DIGEST, { signal }));
    await first;
    controller.abort("later");
    expect(await second).toMatchObject({ code: "aborted", cause: "later" });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
