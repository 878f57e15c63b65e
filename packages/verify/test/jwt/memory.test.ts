import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const PROGRAM = fileURLToPath(new URL("../support/tokens-in-heap.mjs", import.meta.url));

it("no token stays in memory after it was verified", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", PROGRAM]);
  expect(stdout.trim()).toBe("0");
});
