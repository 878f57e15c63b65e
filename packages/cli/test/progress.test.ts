import { createColors } from "picocolors";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createProgress, type Progress } from "../src/terminal/progress.ts";

const ERASE = "\r\u001B[K";
let written: string[] = [];
let progress: Progress;

beforeEach(() => {
  vi.useFakeTimers();
  written = [];
  const write = (text: string | Uint8Array): void => void written.push(String(text));
  progress = createProgress({ write, colors: createColors(false), width: 40 });
});
afterEach(() => void vi.useRealTimers());

/** Work that ends when the test says so. */
function work(): { readonly done: Promise<void>; readonly end: () => void } {
  let end = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { done, end };
}

test("a line is shown after half a second, and erased at the end", async () => {
  const { done, end } = work();
  const ended = progress.during("Signing", () => done);
  vi.advanceTimersByTime(400);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(written).toEqual([`${ERASE}⠋ Signing`]);
  end();
  await ended;
  vi.advanceTimersByTime(1000);
  expect(written).toEqual([`${ERASE}⠋ Signing`, ERASE]);
});

test("a prompt has the terminal for itself", async () => {
  const { done, end } = work();
  const typed = work();
  const ended = progress.during("Making the key", () => done);
  vi.advanceTimersByTime(600);
  const asked = progress.undisturbed(() => typed.done);
  const before = written.length;
  expect(written.at(-1)).toBe(ERASE);
  vi.advanceTimersByTime(10_000);
  expect(written).toHaveLength(before);
  typed.end();
  await asked;
  vi.advanceTimersByTime(600);
  expect(written.at(-1)).toContain("Making the key");
  end();
  await ended;
});

test("work inside of other work shows its own text, on the same line", async () => {
  const [outer, inner] = [work(), work()];
  const ended = progress.during("Examining", async () => {
    await progress.during("Opening", () => inner.done);
    await outer.done;
  });
  vi.advanceTimersByTime(600);
  expect(written.every((text) => text.includes("Opening"))).toBe(true);
  expect(written).toHaveLength(2);
  inner.end();
  await vi.advanceTimersByTimeAsync(100);
  expect(written.at(-1)).toContain("Examining");
  outer.end();
  await ended;
});

test("a long text stays on one line, which can be erased", async () => {
  const { done, end } = work();
  const ended = progress.during(`asking ${"a".repeat(253)}`, () => done);
  vi.advanceTimersByTime(600);
  expect(written.at(-1)).toHaveLength(ERASE.length + 39);
  end();
  await ended;
});

test("the line turns through ten frames, and begins again", async () => {
  const { done, end } = work();
  const ended = progress.during("a", () => done);
  vi.advanceTimersByTime(500 + 10 * 100);
  expect(written.map((text) => text.replace(ERASE, ""))).toEqual([..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏⠋"].map((frame) => `${frame} a`));
  end();
  await ended;
});

test("the work can replace the text", async () => {
  const { done, end } = work();
  const ended = progress.during("first", async (update) => {
    update("then\u001B");
    await done;
  });
  vi.advanceTimersByTime(500);
  expect(written).toEqual([`${ERASE}⠋ then\\u001b`]);
  end();
  await ended;
});

test("work that failed is over too, and nothing is erased that was not shown", async () => {
  await expect(progress.during("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await expect(progress.undisturbed(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect([written, vi.getTimerCount()]).toEqual([[], 0]);
  const { done, end } = work();
  const ended = progress.during("b", () => done);
  vi.advanceTimersByTime(500);
  expect(written).toEqual([`${ERASE}⠋ b`]);
  end();
  await ended;
});

test("in a narrow terminal a character is left", async () => {
  const write = (text: string | Uint8Array): void => void written.push(String(text));
  const narrow = createProgress({ write, colors: createColors(false), width: 3 });
  const { done, end } = work();
  const ended = narrow.during("abc", () => done);
  vi.advanceTimersByTime(500);
  expect(written).toEqual([`${ERASE}⠋ a`]);
  end();
  await ended;
});
