import { describe, expect, test } from "vitest";
import { readFaultArguments } from "../../scripts/campaigns/fault-arguments.mjs";
import { readFuzzArguments } from "../../scripts/campaigns/fuzz-arguments.mjs";
import { chooseTargets } from "../fuzz/engine/settings.ts";

// A misspelled argument must not become a run that tests less than was asked for.

const BACKENDS = ["local", "aws-kms"];
const TARGETS = ["jwk-set", "jwt"];

describe("npm run faults", () => {
  test("reads backends and options", () => {
    expect(
      readFaultArguments(["aws-kms", "--seed", "7", "--only=reset,flaky", "--publish", "aws-kms"], BACKENDS),
    ).toEqual({
      names: ["aws-kms"],
      options: ["--seed=7", "--only=reset,flaky"],
      publish: true,
    });
    expect(readFaultArguments([], BACKENDS)).toEqual({ names: [], options: [], publish: false });
  });

  test.each([
    [["aws"], "Unknown backend: aws. Known backends: local, aws-kms"],
    [["--sead", "7"], "--sead"],
    [["--seed"], "--seed"],
    [["--seed", "--publish"], "--seed"],
    [["--publish=yes"], "--publish"],
    [["--seed", "1.5"], "--seed must be a whole number from 0 to 4294967295: 1.5"],
    [["--seed", "4294967296"], "--seed must be a whole number from 0 to 4294967295: 4294967296"],
    [["--tokens", "0"], "--tokens must be a whole number from 1 to 10000000: 0"],
    [["--tokens", "10000001"], "--tokens must be a whole number from 1 to 10000000: 10000001"],
  ])("refuses %j", (args, problem) => {
    expect(readFaultArguments(args, BACKENDS)).toEqual({ problem: expect.stringContaining(problem) });
  });
});

describe("npm run fuzz", () => {
  test("reads targets and options", () => {
    const args = ["jwk-set", "--seed", "7", "--cases", "5", "--minutes", "1", "--input", "00ff"];
    expect(readFuzzArguments(args, TARGETS)).toEqual({
      targets: ["jwk-set"],
      seed: 7,
      cases: 5,
      minutes: 1,
      input: "00ff",
    });
    expect(readFuzzArguments([], TARGETS)).toEqual({ targets: [], seed: expect.any(Number) });
  });

  test.each([
    [["jwk-sets"], "Unknown target: jwk-sets. Known targets: jwk-set, jwt"],
    [["jwk-set", "jws"], "Unknown target: jws"],
    [["--sead", "7"], "--sead"],
    [["--seed"], "--seed"],
    [["--seed", "1.5"], "--seed must be a whole number, at least 0: 1.5"],
    [["--seed=-1"], "--seed must be a whole number, at least 0: -1"],
    [["--cases", "0"], "--cases must be a whole number, at least 1: 0"],
    [["--cases", ""], "--cases must be a whole number, at least 1: "],
    [["--minutes", "0"], "--minutes must be a whole number, at least 1: 0"],
    [["--minutes", "Infinity"], "--minutes must be a whole number"],
    [["--input", "abc"], "--input must be hexadecimal digits"],
  ])("refuses %j", (args, problem) => {
    expect(readFuzzArguments(args, TARGETS)).toEqual({ problem: expect.stringContaining(problem) });
  });

  test("refuses a target that does not exist, also next to one that does", () => {
    const all = [{ name: "a" }, { name: "b" }];
    expect(chooseTargets(all, [])).toEqual(all);
    expect(chooseTargets(all, ["b"])).toEqual([{ name: "b" }]);
    expect(() => chooseTargets(all, ["b", "c"])).toThrow("unknown target: c");
  });
});
