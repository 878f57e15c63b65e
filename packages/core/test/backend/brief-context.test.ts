import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, expect, test, vi } from "vitest";
import { createBriefContext } from "@signpost/core/adapter";

const disabled = vi.spyOn(AsyncLocalStorage.prototype, "disable");
afterEach(() => void disabled.mockClear());

test("work sees its value until it has settled, also after awaits, and nothing else does", async () => {
  const context = createBriefContext<string>();
  const seen: (string | undefined)[] = [];
  const work = async (): Promise<string> => {
    seen.push(context.get());
    await new Promise((resolve) => void setImmediate(resolve));
    seen.push(context.get());
    return "done";
  };
  const running = [context.run("one", work), context.run("two", work)];
  expect(context.get()).toBeUndefined();
  expect(await Promise.all(running)).toEqual(["done", "done"]);
  expect(seen).toEqual(["one", "two", "one", "two"]);
});

test("stops following promises when the last work has ended, however it ends", async () => {
  const context = createBriefContext<string>();
  const results: unknown[] = [];
  const first = context.run("one", () => new Promise((resolve) => void setImmediate(resolve)));
  const second = context.run("two", () => Promise.reject(new Error("failed")));
  expect(() =>
    context.run("three", () => {
      throw new Error("thrown");
    }),
  ).toThrow("thrown");
  context.run("four", () => results.push(context.get()));
  await expect(second).rejects.toThrow("failed");
  expect(disabled).not.toHaveBeenCalled();
  await first;
  expect(disabled).toHaveBeenCalledOnce();
  expect(results).toEqual(["four"]);
});

test("goes on while it is held, and can be used again afterwards", async () => {
  const context = createBriefContext<string>();
  const letGo = context.hold();
  const later = context.run("one", () => ({ after: Promise.resolve().then(() => context.get()) }));
  expect(await later.after).toBe("one");
  expect(disabled).not.toHaveBeenCalled();
  letGo();
  letGo();
  expect(disabled).toHaveBeenCalledOnce();
  expect(await context.run("two", async () => context.get())).toBe("two");
});
