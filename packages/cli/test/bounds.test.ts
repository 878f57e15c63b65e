import { freePort } from "@signpost/test-backends/process";
import { describe, expect, test } from "vitest";
import type { ServeFlags } from "../src/serve/command.ts";
import { readSettings } from "../src/serve/settings.ts";
import { runApp } from "./support/run-app.ts";

// What each flag with a number takes, at its bounds and next to them.

const levels = (count: number): string => Array.from({ length: count }, (_, index) => index + 1).join(",");
/** There is nothing at these places, so that only the flag is read. */
const validate = ["rotate", "validate", "--config", "/nowhere/signpost.json"];
const announce = ["rotate", "announce", "--config", "/nowhere/signpost.json"];
const check = ["check", `http://127.0.0.1:${await freePort()}`];

test.each<[command: readonly string[], flag: string, taken: readonly string[], refused: readonly string[]]>([
  [
    ["sign", "local:/nowhere.pem"],
    "--expires-in",
    ["1", "315360000"],
    ["0", "315360001", "1.5", "01", "1e3", "+1", ""],
  ],
  [["bench", "local:/nowhere.pem"], "--calls", ["1", "1000000"], ["0", "1000001", "1.5", "01", "1e3", ""]],
  [
    ["bench", "local:/nowhere.pem"],
    "--duration",
    ["0.001", "3600"],
    ["0", "0.000", "3600.1", "0.0001", ".5", "1.", "1e3"],
  ],
  [
    ["bench", "local:/nowhere.pem"],
    "--concurrency",
    ["1", "1000", levels(10)],
    ["0", "1001", "1,1001", levels(11), "4,4", "1,", "01", ""],
  ],
  [["doctor", "local:/nowhere.pem"], "--samples", ["0", "1000"], ["1001", "1.5", "0x1", "1e1", ""]],
  [["cert", "inspect", "/nowhere.pem"], "--within", ["0", "3650"], ["3651", "1.5", "0x1", "1e1", ""]],
  [validate, "--next-within", ["1", "3660"], ["0", "3661", "1.5"]],
  [validate, "--longest-cache", ["1", "87840"], ["0", "87841"]],
  [validate, "--longest-token", ["1", "315360000"], ["0", "315360001"]],
  [announce, "--max-token-lifetime", ["1", "315360000"], ["0", "315360001"]],
  [check, "--timeout", ["0.1", "60"], ["0.09", "60.1"]],
  [[...check, "--watch"], "--interval", ["0.1", "3600"], ["0.09", "3600.1"]],
])("%o %s takes %j, and refuses %j", async (command, flag, taken, refused) => {
  const found: string[] = [];
  for (const value of [...taken, ...refused]) {
    const { stderr } = await runApp([...command, flag, value]);
    if (/expected (?:a whole number|seconds|at most)/.test(stderr)) found.push(value);
  }
  expect(found).toEqual(refused);
});

describe("signpost serve takes", () => {
  test.each<[flag: string, name: keyof ServeFlags, taken: readonly number[], refused: readonly number[]]>([
    ["--port", "port", [0, 65_535], [-1, 65_536, 1.5]],
    ["--admin-port", "adminPort", [0, 65_535], [-1, 65_536, 1.5]],
    ["--max-connections", "maxConnections", [1, 1_000_000], [0, 1_000_001, 1.5]],
    ["--shutdown-delay", "shutdownDelay", [0, 0.5, 3600], [-0.5, 3600.5, Number.NaN]],
    ["--shutdown-timeout", "shutdownTimeout", [0, 0.5, 3600], [-0.5, 3600.5, Number.NaN]],
  ])("%s as %s: %j, and refuses %j", (flag, name, taken, refused) => {
    for (const value of taken) expect(() => readSettings({ [name]: value })).not.toThrow();
    for (const value of refused) expect(() => readSettings({ [name]: value })).toThrow(`${flag}: expected `);
  });

  test("its times in seconds", () => {
    expect(readSettings({ shutdownDelay: 0.5, shutdownTimeout: 2 })).toMatchObject({
      shutdownDelayMs: 500,
      shutdownTimeoutMs: 2000,
    });
    expect(readSettings({})).toMatchObject({ shutdownDelayMs: 0, shutdownTimeoutMs: 10_000 });
  });
});
