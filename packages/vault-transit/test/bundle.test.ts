import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFakeVaultTransit, type FakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { loadingFailure } from "../src/undici.ts";

const PROGRAM = fileURLToPath(new URL("support/bundled-program.ts", import.meta.url));
const run = promisify(execFile);

/** Where nothing is installed: what a bundle needs it must hold. */
let empty: string;
let fake: FakeVaultTransit;

beforeAll(async () => {
  empty = await mkdtemp(join(tmpdir(), "signpost-vault-bundle-"));
  fake = await startFakeVaultTransit();
});
afterAll(async () => {
  await fake.stop();
  await rm(empty, { recursive: true });
});

/** What the bundle prints. */
async function printed(format: "esm" | "cjs", external: readonly string[] = []): Promise<string> {
  const folder = await mkdtemp(join(empty, `${format}-`));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: format === "esm" ? "module" : "commonjs" }));
  const output = { dir: folder, format, entryFileNames: "bundled-program.js" } as const;
  await build({ platform: "node", logLevel: "silent", input: PROGRAM, external: [...external], output });
  const { stdout } = await run(process.execPath, [join(folder, "bundled-program.js")], {
    env: { VAULT_ADDR: fake.address, VAULT_TOKEN: fake.token },
  });
  return stdout.trim();
}

describe.each(["esm", "cjs"] as const)("a bundle, %s", (format) => {
  test("signs", async () => {
    expect(await printed(format)).toBe("signed 64 bytes");
  });

  test("without undici says so", async () => {
    expect(await printed(format, ["undici", "undici/index.js"])).toBe(
      "ConfigurationError: undici: expected the package undici to be installed where the bundle runs",
    );
  });
});

test.each([
  ['Dynamic require of "node:assert" is not supported', /its CommonJS cannot run inside this bundle; make undici/],
  ["require is not defined in ES module scope", /its CommonJS cannot run inside this bundle/],
  ["Cannot find package 'undici' imported from /srv/out.js", /^expected the package undici to be installed/],
  ["something else", /^expected the package undici to load, but it failed with "something else"$/],
])("a failure to load undici is explained: %s", (message, text) => {
  expect(loadingFailure(new Error(message))).toMatch(text);
});
