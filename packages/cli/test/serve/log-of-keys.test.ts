import { createKeySet, serializeJwks, type KeySet } from "@signpost/core";
import { createColors } from "picocolors";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { standIn } from "../../src/config/config-keys.ts";
import { watchKeySet } from "../../src/serve/live/watch-key-set.ts";
import { createLog, type Log } from "../../src/serve/log.ts";
import { createOutput } from "../../src/terminal/output.ts";

// What a server logs of its key set, and in which form.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const setOf = (...kids: readonly string[]): KeySet =>
  createKeySet(kids.map((keyId) => ({ keyId, signer: standIn() })) as never);

describe("the key set", () => {
  const [A, B] = [setOf("a"), setOf("b", "a")];
  const NEXT = new Date("2026-07-01T08:00:00Z");

  function watching(first: KeySet | undefined) {
    const now = { set: first, isShort: false, next: null as Date | null };
    const ending = new AbortController();
    const log = vi.fn<Log>();
    const live = { published: () => now.set, isRotationActive: () => now.isShort, nextChange: () => now.next };
    watchKeySet(live as never, log, ending.signal);
    return { now, ending, log };
  }

  test("is logged at once, and again when it is another one, within a second", () => {
    const { now, log } = watching(A);
    const { etag } = serializeJwks(A);
    expect(log.mock.calls).toEqual([
      [
        "info",
        "keys",
        "publishes a (active); cached for 1 hour",
        { etag, active: "a", rotation: false, nextChange: null },
      ],
    ]);
    Object.assign(now, { set: B, isShort: true, next: NEXT });
    vi.advanceTimersByTime(999);
    expect(log).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1);
    expect(log).toHaveBeenLastCalledWith("info", "keys", "publishes b (active), a (retiring); cached for 5 minutes", {
      etag: serializeJwks(B).etag,
      active: "b",
      rotation: true,
      nextChange: "2026-07-01T08:00:00.000Z",
    });
  });

  test("is logged when only the time in caches is another, and when only a key behind a kid is", () => {
    const { now, log } = watching(A);
    now.isShort = true;
    vi.advanceTimersByTime(1000);
    now.set = setOf("a");
    vi.advanceTimersByTime(1000);
    now.next = NEXT;
    vi.advanceTimersByTime(5000);
    expect(log.mock.calls.map(([, , message]) => message)).toEqual([
      "publishes a (active); cached for 1 hour",
      "publishes a (active); cached for 5 minutes",
      "publishes a (active); cached for 5 minutes",
    ]);
  });

  test("that is not known yet is not logged, and is as soon as it is", () => {
    const { now, log } = watching(undefined);
    vi.advanceTimersByTime(5000);
    expect(log).not.toHaveBeenCalled();
    now.set = A;
    vi.advanceTimersByTime(1000);
    expect(log).toHaveBeenCalledTimes(1);
  });

  test("is not looked at after the end", () => {
    const { now, ending, log } = watching(A);
    ending.abort();
    expect(vi.getTimerCount()).toBe(0);
    now.set = B;
    vi.advanceTimersByTime(5000);
    expect(log).toHaveBeenCalledTimes(1);
  });
});

describe("a line of the log", () => {
  function logged(json: boolean, isColored = false) {
    let written = "";
    const write = (text: string | Uint8Array): void => void (written += String(text));
    const output = createOutput({ write, colors: createColors(isColored), columns: 80, isTerminal: true });
    vi.setSystemTime(new Date("2026-07-01T08:09:10.011Z"));
    return { log: createLog(output, json), written: () => written };
  }

  test("for people has the time of day, its level, and what to do", () => {
    const { log, written } = logged(false);
    log("info", "loaded", "loaded");
    log("error", "failed", "it\nfailed", { hint: "look\u001b", code: "x" });
    expect(written()).toBe("08:09:10Z info  loaded\n08:09:10Z error it\\u000afailed (look\\u001b)\n");
  });

  test.each([
    ["info", "\u001b[36m"],
    ["warn", "\u001b[33m"],
    ["error", "\u001b[31m"],
  ] as const)("of the level %s has its color", (level, color) => {
    const { log, written } = logged(false, true);
    log(level, "event", "words");
    expect(written()).toBe(`\u001b[2m08:09:10Z\u001b[22m ${color}${level.padEnd(5)}\u001b[39m words\n`);
  });

  test("for programs is JSON with all details, which no terminal obeys", () => {
    const { log, written } = logged(true);
    log("warn", "event", "words\u009b", { hint: "look", count: 7, is: true, none: null, gone: undefined });
    expect(written()).toContain("\\u009b");
    expect(written()).not.toContain("\u009b");
    expect(JSON.parse(written())).toEqual({
      time: "2026-07-01T08:09:10.011Z",
      level: "warn",
      event: "event",
      message: "words\u009b",
      hint: "look",
      count: 7,
      is: true,
      none: null,
    });
  });
});
