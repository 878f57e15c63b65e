import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const run = promisify(execFile);
const PROGRAM = `
  import { createPublicDispatcher } from "@signpost/verify";
  try {
    console.log(typeof createPublicDispatcher().dispatch);
  } catch (error) {
    console.log(error.name, error.argument);
  }
`;

/** Where undici is found. */
const installed = fileURLToPath(new URL("../../node_modules/.cache/bundle-test", import.meta.url));
/** Where nothing is. */
let empty: string;

beforeAll(async () => {
  empty = await mkdtemp(join(tmpdir(), "signpost-verify-bundle-"));
  await mkdir(installed, { recursive: true });
});
afterAll(() => Promise.all([empty, installed].map((folder) => rm(folder, { recursive: true }))));

test.each([
  ["esm", "with undici installed", () => installed, "function"],
  ["cjs", "with undici installed", () => installed, "function"],
  ["esm", "without undici", () => empty, "ConfigurationError undici"],
  ["cjs", "without undici", () => empty, "ConfigurationError undici"],
] as const)("createPublicDispatcher in a bundle, %s, %s", async (format, _where, folder, printed) => {
  expect(await printedBy(await bundle(folder(), format))).toBe(printed);
});

test.each(["esm", "cjs"] as const)("in a bundle, %s, that a program elsewhere loads", async (format) => {
  const starter = join(empty, "starter.mjs");
  await writeFile(starter, `import(${JSON.stringify(pathToFileURL(await bundle(installed, format)))});`);
  expect(await printedBy(starter)).toBe("function");
});

async function bundle(folder: string, format: "esm" | "cjs"): Promise<string> {
  const outfile = join(folder, `program.${format === "esm" ? "mjs" : "cjs"}`);
  const resolveDir = fileURLToPath(new URL("..", import.meta.url));
  await build({
    stdin: { contents: PROGRAM, resolveDir },
    outfile,
    format,
    bundle: true,
    platform: "node",
    external: ["undici"],
    logLevel: "error",
    logOverride: { "empty-import-meta": "silent" },
  });
  return outfile;
}

async function printedBy(program: string): Promise<string> {
  // What starts the tests may set NODE_PATH, by which undici would be found anywhere.
  const { NODE_PATH: _path, ...env } = process.env;
  return (await run(process.execPath, [program], { env })).stdout.trim();
}
