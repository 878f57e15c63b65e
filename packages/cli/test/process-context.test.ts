import { afterEach, describe, expect, test, vi } from "vitest";
import { processContext } from "../src/program/process-context.ts";
import { colorsFor, wantsColor } from "../src/terminal/colors.ts";
import { NO_PROGRESS } from "../src/terminal/progress.ts";

const endings = { signal: new AbortController().signal, interrupt: () => undefined, allowClosing: () => undefined };
const before = { isTTY: process.stderr.isTTY, columns: process.stderr.columns };

/** What standard error is, for one test. */
function standardError(settings: { isTTY: boolean; columns?: number }): void {
  Object.assign(process.stderr, settings);
}

afterEach(() => {
  Object.assign(process.stderr, before);
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe("progress is shown", () => {
  test.each([
    ["on a terminal", true, "xterm-256color", true],
    ["on a terminal that does not say what it is", true, undefined, true],
    ["not on a terminal that cannot erase a line", true, "dumb", false],
    ["not in a file", false, "xterm-256color", false],
  ])("%s", (_where, isTTY, term, isShown) => {
    standardError({ isTTY });
    vi.stubEnv("TERM", term);
    const { during, undisturbed } = processContext(endings);
    expect([during !== NO_PROGRESS.during, undisturbed !== NO_PROGRESS.undisturbed]).toEqual([isShown, isShown]);
  });
});

describe("the context of a process", () => {
  test("writes results to standard output, and messages to standard error", () => {
    const written: string[] = [];
    const into = (name: string) => (text: unknown) => {
      written.push(`${name}: ${String(text)}`);
      return true;
    };
    vi.spyOn(process.stdout, "write").mockImplementation(into("out"));
    vi.spyOn(process.stderr, "write").mockImplementation(into("err"));
    const { output, messages, process: streams } = processContext(endings);
    output.write("a");
    messages.write("b");
    streams.stdout.write("c");
    streams.stderr.write("d");
    vi.restoreAllMocks();
    expect(written).toEqual(["out: a", "err: b", "out: c", "err: d"]);
  });

  test("has the width and the kind of its stream", () => {
    standardError({ isTTY: true, columns: 77 });
    const { messages } = processContext(endings);
    expect([messages.width, messages.isTerminal]).toEqual([77, true]);
  });

  test("hands on the environment, standard input and how it ends", () => {
    expect(processContext(endings)).toMatchObject({ ...endings, env: process.env, stdin: process.stdin });
  });

  test("says the depth of colors that the help of a command may use", () => {
    standardError({ isTTY: true });
    vi.stubEnv("TERM", "xterm");
    vi.stubEnv("FORCE_COLOR", "");
    vi.stubEnv("NO_COLOR", "");
    const depth = () => processContext(endings).process.stderr.getColorDepth?.();
    expect(depth()).toBe(4);
    vi.stubEnv("NO_COLOR", "1");
    expect(depth()).toBe(1);
  });

  test("asks for the working folder when a command does, since it may be gone", () => {
    const context = processContext(endings);
    expect(context.cwd).toBe(process.cwd());
    const cause = new Error("ENOENT");
    vi.spyOn(process, "cwd").mockImplementation(() => {
      throw cause;
    });
    expect(() => context.cwd).toThrow(
      expect.objectContaining({ code: "no_folder", message: "The working folder no longer exists", cause }),
    );
  });
});

describe("colors", () => {
  test.each<[stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv, expected: boolean]>([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { TERM: "xterm" }, true],
    [{ isTTY: true }, { TERM: "dumb" }, false],
    [{ isTTY: false }, {}, false],
    [{}, {}, false],
    [{ isTTY: true }, { NO_COLOR: "1" }, false],
    [{ isTTY: true }, { NO_COLOR: "0" }, false],
    [{ isTTY: true }, { NO_COLOR: "" }, true],
    [{ isTTY: false }, { FORCE_COLOR: "1" }, true],
    [{ isTTY: true }, { FORCE_COLOR: "0" }, false],
    [{ isTTY: true }, { FORCE_COLOR: "" }, true],
    [{ isTTY: false }, { FORCE_COLOR: "" }, false],
    [{ isTTY: true }, { FORCE_COLOR: "1", TERM: "dumb" }, true],
    [{ isTTY: true }, { FORCE_COLOR: "1", NO_COLOR: "1" }, false],
  ])("of %o with %o are used: %s", (stream, env, expected) => {
    expect(wantsColor(stream, env)).toBe(expected);
    expect(colorsFor(stream, env).red("a") !== "a").toBe(expected);
  });
});
