import { describe, expect, test } from "vitest";
import { createApp } from "../src/app.ts";
import { propose } from "../src/complete/propose.ts";
import { recordingContext } from "./support/recording-context.ts";
import { runApp } from "./support/run-app.ts";

// What a mistake in a command line is told as, to people and to programs, and what may come next on one.

test.each<[what: string, args: readonly string[], words: string]>([
  ["a command that is nearly one", ["jwkss"], 'There is no command "jwkss". Did you mean `jwks`? See signpost --help.'],
  ["a command that is like none", ["zzzzzzzz"], 'There is no command "zzzzzzzz". See signpost --help.'],
  ["a word of 32 characters", ["z".repeat(32)], `There is no command "${"z".repeat(32)}". See signpost --help.`],
  ["a longer word", ["z".repeat(33)], "Begin with a command. See signpost --help."],
  ["a key URI, which may have a PIN", ["pkcs11:object=a?pin-value=1234"], "Begin with a command. See signpost --help."],
  ["a word that ends in another way", ["jwks!"], "Begin with a command."],
  ["a word that begins in another way", ["!jwks"], "Begin with a command."],
  ["a part of a group that is none", ["rotate", "zzzzzzzz"], 'There is no command "zzzzzzzz". See signpost --help.'],
  ["an argument too many", ["kid", "a", "1234"], "Too many arguments, expected 1. Put a key URI into quotes"],
  ["an option that is none", ["kid", "a", "--jsn"], "--json"],
  ["an option in another case", ["keygen", "a", "--key-idd", "b"], "--key-id"],
  ["an option without its value", ["kid", "a", "--config"], "config"],
  ["a missing argument", ["kid"], "uri"],
])("%s", async (_what, args, words) => {
  const { code, stdout, stderr } = await runApp(args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(words);
  expect(stderr).not.toContain("1234");
});

describe("programs are told in JSON", () => {
  test.each<[args: readonly string[], isTold: boolean]>([
    [["jwkss", "--json"], true],
    [["jwkss", "--json=true"], true],
    [["--json", "jwkss"], true],
    [["jwkss", "--jsonx"], false],
    [["jwkss", "x--json"], false],
    [["jwkss", "--", "--json"], false],
    [["jwkss", "--json", "--"], true],
  ])("by %j: %s", async (args, isTold) => {
    const { code, stdout, stderr } = await runApp(args);
    expect(code).toBe(2);
    expect(stderr).not.toBe("");
    if (isTold) expect(JSON.parse(stdout)).toEqual({ error: { code: "usage", message: stderr.trim() } });
    else expect(stdout).toBe("");
  });
});

test("the version and the help need no command", async () => {
  expect(await runApp(["--version"])).toEqual({ code: 0, stdout: "0.0.0\n", stderr: "" });
  const { code, stdout } = await runApp(["--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain("OPTIONS");
  expect(stdout).toContain("Print this help");
  expect((await runApp(["kid", "--help"])).stdout).toContain("Everything after it is an argument");
});

describe("what may come next is", () => {
  async function proposed(...words: readonly string[]): Promise<readonly string[]> {
    const context = recordingContext("/");
    await propose(createApp("0.0.0"), words, context);
    return context.printed().split("\n");
  }

  test("a command with what it does, and no file", async () => {
    expect(await proposed("jw")).toEqual([expect.stringMatching(/^jwks\tPrint the key set/), ":4", ""]);
  });

  test("an option in the way that people write it", async () => {
    expect(await proposed("keygen", "--key")).toEqual([expect.stringMatching(/^--key-id\t/), ":4", ""]);
  });

  test("an algorithm that begins like this", async () => {
    expect((await proposed("verify", "--alg", "ES")).map((line) => line.split("\t")[0])).toContain("ES256");
  });

  test("a shell", async () => {
    expect((await proposed("complete", "b")).map((line) => line.split("\t")[0])).toEqual(["bash", ":4", ""]);
  });

  test("nothing", async () => {
    expect(await proposed("zzzzzzzz")).toEqual([":4", ""]);
  });
});
