import { describe, expect, test, vi } from "vitest";
import { createReloads } from "../src/program/reloads.ts";

// Reloads, one at a time.

describe("reloads", () => {
  function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
    let resolve = (): void => undefined;
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    return { promise, resolve };
  }
  const soon = (): Promise<void> => new Promise(setImmediate);

  test("that are asked for before the start are one, at the start", async () => {
    const reloads = createReloads();
    const reload = vi.fn<() => Promise<void>>(async () => undefined);
    reloads.request();
    reloads.request();
    reloads.start(reload);
    await soon();
    expect(reload).toHaveBeenCalledTimes(1);
  });

  test("are none without a request", async () => {
    const reload = vi.fn<() => Promise<void>>(async () => undefined);
    createReloads().start(reload);
    await soon();
    expect(reload).not.toHaveBeenCalled();
  });

  test("run one at a time, and those that are asked for meanwhile are one more", async () => {
    const reloads = createReloads();
    const first = deferred();
    const reload = vi.fn<() => Promise<void>>(async () => undefined).mockImplementationOnce(() => first.promise);
    reloads.start(reload);
    for (let request = 0; request < 3; request += 1) reloads.request();
    await soon();
    expect(reload).toHaveBeenCalledTimes(1);
    reloads.request();
    first.resolve();
    await soon();
    expect(reload).toHaveBeenCalledTimes(2);
    reloads.request();
    await soon();
    expect(reload).toHaveBeenCalledTimes(3);
  });

  test("end with the one that runs, and then none begins", async () => {
    const reloads = createReloads();
    const first = deferred();
    const reload = vi.fn<() => Promise<void>>(() => first.promise);
    reloads.start(reload);
    reloads.request();
    reloads.request();
    let isEnded = false;
    const ended = reloads.end().then(() => {
      isEnded = true;
    });
    await soon();
    expect(isEnded).toBe(false);
    first.resolve();
    await ended;
    reloads.request();
    await soon();
    expect(reload).toHaveBeenCalledTimes(1);
  });
});
