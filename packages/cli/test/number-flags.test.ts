import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";

// The numbers that options take, at their bounds. Each command line has another mistake, which is found after its options are read.

let folder: KeyFolder;
beforeAll(async () => void (folder = await createKeyFolder()));
afterAll(() => folder[Symbol.asyncDispose]());

const SIGN = ["sign", "--expires-in"];
const DOCTOR = ["doctor", "--samples"];
const INSPECT = ["cert", "inspect", "none.pem", "--within"];
const ROTATE = ["rotate", "announce", "--signer", "none:", "--max-token-lifetime"];
const BENCH_CALLS = ["bench", "none:", "--calls"];
const BENCH_LEVELS = ["bench", "none:", "--concurrency"];
const BENCH_TIME = ["bench", "none:", "--duration"];

const run = async (args: readonly string[]): Promise<string> => {
  const { code, stderr } = await runApp(args, { cwd: folder.path, stdin: "{}" });
  expect(code).toBe(2);
  return stderr;
};

describe("is taken", () => {
  test.each<[args: readonly string[], values: readonly string[]]>([
    [SIGN, ["1", "300", "315360000"]],
    [DOCTOR, ["0", "10", "1000"]],
    [INSPECT, ["0", "30", "3650"]],
    [ROTATE, ["1", "3600", "315360000"]],
    [BENCH_CALLS, ["1", "1000000"]],
    [BENCH_LEVELS, ["1", "1,4,16", "1000", "1,2,3,4,5,6,7,8,9,10"]],
    [BENCH_TIME, ["0.001", "1.5", "3600"]],
  ])("%j %j", async (args, values) => {
    for (const value of values) expect(await run([...args, value])).not.toContain("expected");
  });
});

describe("is refused", () => {
  test.each<[args: readonly string[], values: readonly string[], message: string]>([
    [SIGN, ["0", "315360001", "1e3", "+1", " 1", "01", "1.5", ""], "expected a whole number from 1 to 315360000"],
    [DOCTOR, ["1001", "10000", "1e1", "0x1", "1.5", "-1", ""], "expected a whole number from 0 to 1000"],
    [INSPECT, ["3651", "12345", "1e1", "0x1", "1.5", ""], "expected a whole number from 0 to 3650"],
    [ROTATE, ["0", "315360001", "1e3", "1.5", "a", ""], "expected a whole number from 1 to 315360000"],
    [BENCH_CALLS, ["0", "1000001", "01", "1e3", "1.5", ""], "expected a whole number from 1 to 1000000"],
    [
      BENCH_LEVELS,
      ["0", "1001", "1,1", "1,", "01", "1,2,3,4,5,6,7,8,9,10,11", ""],
      "expected at most 10 different whole",
    ],
    [BENCH_TIME, ["0", "0.000", "3600.001", "3601", "1.0001", ".5", "1.", "1e3", ""], "expected seconds, more than 0"],
  ])("%j %j", async (args, values, message) => {
    for (const value of values) expect(await run([...args, value])).toContain(message);
  });
});
