import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFakeAzureKeyVault, type FakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";
import { loadingFailure } from "../src/undici.ts";

const PROGRAM = fileURLToPath(new URL("support/bundled-program.ts", import.meta.url));

/** Where nothing is installed: what a bundle needs it must hold. */
let empty: string;
let fake: FakeAzureKeyVault;

beforeAll(async () => {
  empty = await mkdtemp(join(tmpdir(), "signpost-azure-bundle-"));
  fake = await startFakeAzureKeyVault();
});
afterAll(async () => {
  await fake.stop();
  await rm(empty, { recursive: true });
});

/** Makes a bundle, and returns what runs it. */
async function bundle(format: "esm" | "cjs", external: readonly string[]): Promise<(env: object) => Promise<string>> {
  const folder = await mkdtemp(join(empty, `${format}-`));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: format === "esm" ? "module" : "commonjs" }));
  const output = { dir: folder, format, entryFileNames: "bundled-program.js" } as const;
  await build({ platform: "node", logLevel: "silent", input: PROGRAM, external: [...external], output });
  return async (env) => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "bundled-program.js")], {
      env: { KEY: `${fake.url}/keys/op`, NODE_EXTRA_CA_CERTS: fake.caFile, ...env },
    });
    return stdout.trim();
  };
}

describe.each(["esm", "cjs"] as const)("a bundle, %s", (format) => {
  test("signs, and without a credential says what to install", async () => {
    const { token } = fake.entra.issue("https://127.0.0.1/.default");
    const run = await bundle(format, ["@azure/identity"]);
    expect(await run({ TOKEN: token })).toBe("signed 64 bytes");
    expect(await run({})).toContain("@azure/identity to be installed (npm install @azure/identity)");
  });

  test("without undici says so", async () => {
    const run = await bundle(format, ["@azure/identity", "undici", "undici/index.js"]);
    expect(await run({ TOKEN: "x" })).toBe(
      "ConfigurationError: undici: expected the package undici to be installed where the bundle runs",
    );
  });
});

test.each([
  ['Dynamic require of "node:assert" is not supported', /its CommonJS cannot run inside this bundle; make undici/],
  ["require is not defined in ES module scope", /its CommonJS cannot run inside this bundle/],
  ["Cannot find package 'undici' imported from /srv/out.js", /^expected the package undici to be installed/],
  ["Cannot find module 'undici/index.js'", /^expected the package undici to be installed/],
  ["something else", /^expected the package undici to load, but it failed with "something else"$/],
])("a failure to load undici is explained: %s", (message, text) => {
  expect(loadingFailure(new Error(message))).toMatch(text);
});
