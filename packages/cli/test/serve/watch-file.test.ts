import { appendFile, mkdir, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi, type Mock } from "vitest";
import { watchFile, type WatchOptions } from "../../src/serve/live/watch-file.ts";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";

async function watched(
  options: Partial<WatchOptions> = {},
): Promise<{ folder: KeyFolder; path: string; onChange: Mock<() => void> }> {
  const folder = await createKeyFolder();
  const path = join(folder.path, "config.json");
  await folder.write("config.json", "1");
  const ended = new AbortController();
  const onChange = vi.fn<() => void>();
  await watchFile(path, { signal: ended.signal, onChange, ...options });
  onTestFinished(async () => {
    ended.abort();
    await folder[Symbol.asyncDispose]();
  });
  return { folder, path, onChange };
}

test("without notices of the operating system, the file is read from time to time", async () => {
  const { folder, onChange } = await watched({ notices: false, pollMs: 20 });
  await folder.write("config.json", "2");
  await expect.poll(() => onChange.mock.calls.length).toBe(1);
});

test("without another time, the file is read every two seconds", async () => {
  const every = vi.spyOn(globalThis, "setInterval");
  onTestFinished(() => every.mockRestore());
  await watched({ notices: false });
  expect(every.mock.calls.map(([, ms]) => ms)).toEqual([2000]);
});

test("a new date, and another file in the folder, change nothing", async () => {
  const { folder, path, onChange } = await watched({ pollMs: 20 });
  await utimes(path, new Date(0), new Date(0));
  await folder.write("other.json", "2");
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(onChange).not.toHaveBeenCalled();
});

test("several writes in a row are one change", async () => {
  // The writes may be slow, but not for this clock.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  const { path, onChange } = await watched();
  for (const text of "abcdefgh") await appendFile(path, text);
  await expect.poll(() => vi.getTimerCount()).toBe(2);
  vi.advanceTimersByTime(100);
  vi.useRealTimers();
  await expect.poll(() => onChange.mock.calls.length).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(onChange).toHaveBeenCalledTimes(1);
});

test("a file that is gone is a change, and one that is back is another", async () => {
  const { folder, path, onChange } = await watched({ pollMs: 20 });
  await rm(path);
  await expect.poll(() => onChange.mock.calls.length).toBe(1);
  await folder.write("config.json", "2");
  await expect.poll(() => onChange.mock.calls.length).toBe(2);
});

test("a folder that cannot be watched is read from time to time", async () => {
  const folder = await createKeyFolder();
  const ended = new AbortController();
  onTestFinished(async () => {
    ended.abort();
    await folder[Symbol.asyncDispose]();
  });
  const onChange = vi.fn<() => void>();
  await watchFile(join(folder.path, "later/config.json"), { signal: ended.signal, onChange, pollMs: 20 });
  await mkdir(join(folder.path, "later"));
  await folder.write("later/config.json", "1");
  await expect.poll(() => onChange.mock.calls.length).toBe(1);
});
