import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

// The JWT verifier on runtimes other than Node, where node:crypto is another implementation.

const PROGRAM = fileURLToPath(new URL("../support/verify-on-a-runtime.mjs", import.meta.url));

const right = { good: "verified", forged: "bad_signature", many: ["verified", "bad_signature"] };

it.each([
  ["Node", process.execPath, []],
  ["Deno", process.env["SIGNPOST_DENO"], ["run", "--allow-all"]],
  ["Bun", process.env["SIGNPOST_BUN"], []],
])("verifies on %s", async (_name, command, args) => {
  if (command === undefined) throw new Error("SIGNPOST_DENO, SIGNPOST_BUN: expected paths");
  const { stdout } = await promisify(execFile)(command, [...args, PROGRAM]);
  const outcomes = JSON.parse(stdout) as object;
  expect(Object.keys(outcomes)).toEqual(["remote", "joseLocal", "RS256", "PS256", "ES384", "EdDSA"]);
  expect(Object.values(outcomes)).toEqual(Array.from({ length: 6 }, () => right));
});
