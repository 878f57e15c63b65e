import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watchFile, type WatchOptions } from "../../src/serve/live/watch-file.ts";

// When a file is read again, by notices of the operating system and by time, without either.

class Watcher extends EventEmitter {
  readonly close = vi.fn<() => void>();
}

const disk = vi.hoisted(() => ({
  content: "1" as string | undefined,
  reads: 0,
  /** What a read waits for. */
  slow: undefined as Promise<void> | undefined,
  watched: [] as { folder: string; notice: () => void; watcher: unknown }[],
  makeWatcher: (): unknown => undefined,
}));
vi.mock("node:fs", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  watch: (folder: string, notice: () => void) => {
    const watcher = disk.makeWatcher();
    disk.watched.push({ folder, notice, watcher });
    return watcher;
  },
}));
vi.mock("node:fs/promises", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  readFile: async () => {
    disk.reads += 1;
    await disk.slow;
    if (disk.content === undefined) throw new Error("ENOENT");
    return Buffer.from(disk.content);
  },
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  Object.assign(disk, { content: "1", reads: 0, slow: undefined, makeWatcher: () => new Watcher() });
  disk.watched.length = 0;
});
afterEach(() => void vi.useRealTimers());

const LATER = 3_600_000;

async function watching(options: Partial<WatchOptions> = {}) {
  const ending = new AbortController();
  const onChange = vi.fn<() => void>();
  await watchFile("/etc/op/config.json", { signal: ending.signal, onChange, pollMs: LATER, ...options });
  const [{ notice, watcher } = { notice: () => undefined, watcher: undefined }] = disk.watched;
  return { ending, onChange, notice, watcher: watcher as Watcher };
}

/** A notice, and the time that an editor has to finish. */
async function noticed(notice: () => void): Promise<void> {
  notice();
  await vi.advanceTimersByTimeAsync(100);
}

describe("a notice", () => {
  test("of the folder leads to a look at the file, a tenth of a second later", async () => {
    const { onChange, notice } = await watching();
    expect(disk.watched.map(({ folder }) => folder)).toEqual(["/etc/op"]);
    disk.content = "2";
    notice();
    await vi.advanceTimersByTimeAsync(99);
    expect(disk.reads).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([2, 1]);
  });

  test("that others follow waits for the last one", async () => {
    const { onChange, notice } = await watching();
    disk.content = "2";
    for (let count = 0; count < 5; count += 1) {
      notice();
      await vi.advanceTimersByTimeAsync(99);
    }
    expect(onChange).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([2, 1]);
  });

  test("of the same content is no change", async () => {
    const { onChange, notice } = await watching();
    await noticed(notice);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([2, 0]);
  });

  test("of a file that is missing is none, as while an editor replaces it", async () => {
    const { onChange, notice } = await watching();
    disk.content = undefined;
    await noticed(notice);
    disk.content = "1";
    await noticed(notice);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([3, 0]);
    disk.content = "2";
    await noticed(notice);
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  test("while a look is on its way begins no other", async () => {
    const { onChange, notice } = await watching();
    let finish = (): void => undefined;
    disk.slow = new Promise((resolve) => {
      finish = resolve;
    });
    disk.content = "2";
    await noticed(notice);
    await noticed(notice);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([2, 0]);
    finish();
    await vi.advanceTimersByTimeAsync(0);
    expect(onChange).toHaveBeenCalledTimes(1);
    disk.content = "3";
    await noticed(notice);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([3, 2]);
  });
});

describe("a poll", () => {
  test("looks at the file each time, and a file that is missing is a change", async () => {
    const { onChange } = await watching({ pollMs: 2000, notices: false });
    expect(disk.watched).toEqual([]);
    await vi.advanceTimersByTimeAsync(1999);
    expect(disk.reads).toBe(1);
    disk.content = undefined;
    await vi.advanceTimersByTimeAsync(1);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([2, 1]);
    await vi.advanceTimersByTimeAsync(2000);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([3, 1]);
  });

  test("is all that is left where a folder cannot be watched", async () => {
    disk.makeWatcher = () => {
      throw new Error("EMFILE");
    };
    const { ending, onChange } = await watching({ pollMs: 2000 });
    disk.content = "2";
    await vi.advanceTimersByTimeAsync(2000);
    expect(onChange).toHaveBeenCalledTimes(1);
    ending.abort();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("goes on after an error of the watcher", async () => {
    const { onChange, watcher } = await watching({ pollMs: 2000 });
    expect(() => watcher.emit("error", new Error("EIO"))).not.toThrow();
    disk.content = "2";
    await vi.advanceTimersByTimeAsync(2000);
    expect(onChange).toHaveBeenCalledTimes(1);
  });
});

describe("at the end", () => {
  test("nothing is left: no poll, no look that waits, no watcher", async () => {
    const { ending, onChange, notice, watcher } = await watching();
    disk.content = "2";
    notice();
    expect([vi.getTimerCount(), watcher.close.mock.calls.length]).toEqual([2, 0]);
    ending.abort();
    expect([vi.getTimerCount(), watcher.close.mock.calls.length]).toEqual([0, 1]);
    // A last notice may be on its way.
    await noticed(notice);
    expect([disk.reads, onChange.mock.calls.length]).toEqual([1, 0]);
  });

  test("that came before the first look, nothing is begun", async () => {
    await watching({ signal: AbortSignal.abort() });
    expect([disk.reads, disk.watched, vi.getTimerCount()]).toEqual([1, [], 0]);
  });
});
