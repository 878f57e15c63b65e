import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { onAbort, onOwnAbort } from "../../src/signer/on-abort.ts";

describe.each([
  ["of many calls", onAbort],
  ["of one call", onOwnAbort],
])("a signal %s", (_whose, on) => {
  test("calls back once when it aborts", () => {
    const controller = new AbortController();
    const callback = vi.fn<() => void>();
    on(controller.signal, callback);
    expect(callback).not.toHaveBeenCalled();
    controller.abort();
    controller.abort();
    controller.signal.dispatchEvent(new Event("abort"));
    expect(callback).toHaveBeenCalledTimes(1);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  test("calls back now if it has aborted", () => {
    const callback = vi.fn<() => void>();
    const letGo = on(AbortSignal.abort(), callback);
    expect(callback).toHaveBeenCalledTimes(1);
    expect(letGo).not.toThrow();
  });

  test("does not call back once it was let go, and has no listener then", () => {
    const controller = new AbortController();
    const callback = vi.fn<() => void>();
    const letGo = on(controller.signal, callback);
    letGo();
    letGo();
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    controller.abort();
    expect(callback).not.toHaveBeenCalled();
  });

  test("may be missing", () => {
    const callback = vi.fn<() => void>();
    expect(on(undefined, callback)).not.toThrow();
    expect(callback).not.toHaveBeenCalled();
  });
});

test("many calls share one listener, until the last of them has let go", () => {
  const controller = new AbortController();
  const callbacks = [vi.fn<() => void>(), vi.fn<() => void>()];
  const [first, last] = callbacks.map((callback) => onAbort(controller.signal, callback));
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
  first?.();
  first?.();
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
  controller.abort();
  expect(callbacks.map((callback) => callback.mock.calls.length)).toEqual([0, 1]);
  last?.();
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
});
