import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CliContext } from "../src/program/context.ts";
import { readJson } from "../src/program/json.ts";
import { askConsent, askSecret, canAsk } from "../src/program/prompts.ts";
import { readStdin } from "../src/program/stdin.ts";
import type { Output } from "../src/terminal/output.ts";
import { recordingContext } from "./support/recording-context.ts";

// What commands read from people and from pipes.

const clack = vi.hoisted(() => ({ answer: undefined as unknown, asked: [] as object[] }));
vi.mock("@clack/prompts", () => {
  const ask = async (options: object): Promise<unknown> => {
    clack.asked.push(options);
    return clack.answer;
  };
  return { password: ask, confirm: ask, isCancel: (answer: unknown) => typeof answer === "symbol" };
});
beforeEach(() => void (clack.asked.length = 0));
afterEach(() => void vi.restoreAllMocks());

interface Given {
  readonly stdin?: string;
  readonly isTTY?: boolean;
  readonly isTerminal?: boolean;
}

function contextOf({ stdin = "", isTTY = false, isTerminal = isTTY }: Given): CliContext & {
  readonly lines: string[];
} {
  const lines: string[] = [];
  const context = recordingContext("/", stdin);
  const messages: Output = { ...context.messages, isTerminal, line: (text = "") => void lines.push(text) };
  Object.assign(context.stdin, { isTTY });
  return { ...context, messages, lines, interrupt: vi.fn<() => void>() };
}

describe("stdin", () => {
  test("is text without the white space around it", async () => {
    expect(await readStdin(contextOf({ stdin: " \n a b\n\n" }), "a token", 100)).toBe("a b");
  });

  test.each(["", " \n\t"])("without text is a mistake of usage: %j", async (stdin) => {
    await expect(readStdin(contextOf({ stdin }), "a token", 100)).rejects.toMatchObject({
      exitCode: 2,
      code: "stdin_empty",
      message: "stdin is empty, and a token was expected there",
    });
  });

  test("has a limit in bytes", async () => {
    expect(await readStdin(contextOf({ stdin: "ä".repeat(5) }), "a token", 10)).toBe("ä".repeat(5));
    await expect(readStdin(contextOf({ stdin: "ä".repeat(5) }), "a token", 9)).rejects.toMatchObject({
      exitCode: 2,
      code: "stdin_too_long",
      message: "stdin: a token is at most 9 bytes",
    });
  });

  test("of several chunks is joined, and all of them count", async () => {
    const chunked = (): CliContext => {
      const stdin = Readable.from([Buffer.from("ab"), Buffer.from("cd")]) as unknown as CliContext["stdin"];
      return { ...contextOf({}), stdin };
    };
    expect(await readStdin(chunked(), "a token", 4)).toBe("abcd");
    await expect(readStdin(chunked(), "a token", 3)).rejects.toMatchObject({ code: "stdin_too_long" });
  });

  test("at a terminal comes with a word on how to end it, and a pipe has none", async () => {
    const [typed, piped] = [contextOf({ stdin: "a", isTTY: true }), contextOf({ stdin: "a" })];
    await readStdin(typed, "a token", 10);
    await readStdin(piped, "a token", 10);
    expect(typed.lines).toEqual(["Type or paste a token, then press Ctrl-D on an empty line."]);
    expect(piped.lines).toEqual([]);
  });

  test("is left when the command ends", async () => {
    const controller = new AbortController();
    const stdin = new Readable({ read: () => undefined }) as unknown as CliContext["stdin"];
    const reading = readStdin({ ...contextOf({}), stdin, signal: controller.signal }, "a token", 10);
    controller.abort();
    await expect(reading).rejects.toThrow();
    expect(stdin.destroyed).toBe(true);
  });

  test("leaves nothing behind on the signal", async () => {
    const controller = new AbortController();
    const [add, remove] = [
      vi.spyOn(controller.signal, "addEventListener"),
      vi.spyOn(controller.signal, "removeEventListener"),
    ];
    await readStdin({ ...contextOf({ stdin: "a" }), signal: controller.signal }, "a token", 10);
    expect(add).toHaveBeenCalledTimes(1);
    expect(remove).toHaveBeenCalledWith(...(add.mock.lastCall ?? []).slice(0, 2));
  });
});

describe("a question", () => {
  test.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
    [false, false, false],
  ])("with a terminal for stdin (%s) and for messages (%s) can be asked: %s", (isTTY, isTerminal, can) => {
    expect(canAsk(contextOf({ isTTY, isTerminal }))).toBe(can);
  });

  test.each([
    ["a secret", askSecret],
    ["consent", askConsent],
  ])("for %s needs a terminal", async (_what, ask) => {
    await expect(ask(contextOf({ isTTY: false }), "PIN of op")).rejects.toMatchObject({
      exitCode: 2,
      code: "no_terminal",
      message: "There is no terminal to ask for this: PIN of op",
    });
    expect(clack.asked).toEqual([]);
  });

  test.each([
    ["a secret", askSecret],
    ["consent", askConsent],
  ])("for %s that gets Ctrl-C ends the command as Ctrl-C does", async (_what, ask) => {
    clack.answer = Symbol("cancel");
    const context = contextOf({ isTTY: true });
    await expect(ask(context, "PIN of op")).rejects.toMatchObject({ exitCode: 2, code: "cancelled" });
    expect(context.interrupt).toHaveBeenCalledTimes(1);
  });

  test("for a secret is on stderr, and shows dots", async () => {
    clack.answer = "1234";
    const context = contextOf({ isTTY: true });
    expect(await askSecret(context, "PIN of op")).toBe("1234");
    const { signal, stdin: input } = context;
    expect(clack.asked).toEqual([{ message: "PIN of op", mask: "•", signal, input, output: process.stderr }]);
    expect(context.interrupt).not.toHaveBeenCalled();
  });

  test("for a secret that is empty has an empty answer", async () => {
    clack.answer = undefined;
    expect(await askSecret(contextOf({ isTTY: true }), "PIN of op")).toBe("");
  });

  test.each([true, false])("for consent has the answer %s, and a careless Enter is no", async (answer) => {
    clack.answer = answer;
    const context = contextOf({ isTTY: true });
    expect(await askConsent(context, "Go on?")).toBe(answer);
    const { signal, stdin: input } = context;
    expect(clack.asked).toEqual([{ message: "Go on?", initialValue: false, signal, input, output: process.stderr }]);
  });

  test("has the terminal for itself", async () => {
    clack.answer = true;
    const order: string[] = [];
    const undisturbed: CliContext["undisturbed"] = async (work) => {
      order.push(`${clack.asked.length} asked before`);
      const result = await work();
      order.push(`${clack.asked.length} asked after`);
      return result;
    };
    await askConsent({ ...contextOf({ isTTY: true }), undisturbed }, "Go on?");
    await askSecret({ ...contextOf({ isTTY: true }), undisturbed }, "PIN");
    expect(order).toEqual(["0 asked before", "1 asked after", "1 asked before", "2 asked after"]);
  });
});

describe("JSON", () => {
  test.each<[text: string, read: object]>([
    ['{"a":[1,{"b":null}]}', { value: { a: [1, { b: null }] } }],
    ['[{"a":1},{"a":2}]', { value: [{ a: 1 }, { a: 2 }] }],
    ['{"a":{"b":1},"b":2}', { value: { a: { b: 1 }, b: 2 } }],
    ["7", { value: 7 }],
    ["", { fault: "not JSON (value expected)", line: 1, column: 1 }],
    ['{"a":1,}', { fault: "not JSON (property name expected)", line: 1, column: 8 }],
    ['{\n "a": 1 // note\n}', { fault: "not JSON (invalid comment token)", line: 2, column: 9 }],
    ['{"a":1}\n x', { fault: "not JSON (invalid symbol)", line: 2, column: 2 }],
    ['{"a":1,\n  "a":2}', { fault: "a name is there twice in one object", repeated: "a", line: 2, column: 3 }],
    ['{"a":{"b":1,"b":2},"a":3}', { fault: "a name is there twice in one object", repeated: "b", line: 1, column: 13 }],
    ['{"a":{},"a":3}', { fault: "a name is there twice in one object", repeated: "a", line: 1, column: 9 }],
  ])("%j is read", async (text, read) => {
    expect(await readJson(text)).toEqual(read);
  });

  test("may have a member __proto__, which hides nothing", async () => {
    const read = await readJson('{"__proto__":{"a":1}}');
    expect(Object.keys(Object("value" in read && read.value))).toEqual(["__proto__"]);
  });

  test("of very many levels is none", async () => {
    expect(await readJson("[".repeat(200_000))).toEqual({ fault: "not JSON of a few levels", line: 1, column: 1 });
  });
});
