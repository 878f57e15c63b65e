import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testKey } from "../support/keys.ts";
import { jsonAnswer, rawServer } from "../support/raw-server.ts";

const run = promisify(execFile);
const GUARDING = `
  import { createPublicDispatcher } from "@signpost/verify";
  try {
    console.log(typeof createPublicDispatcher().dispatch);
  } catch (error) {
    console.log(error.name, error.argument);
  }
`;

const FETCHING = `
  import { createRemoteKeySet } from "@signpost/verify";
  const [url, connections] = process.argv.slice(2);
  const { preload } = createRemoteKeySet(url, { allowInsecureLoopback: true, ...JSON.parse(connections) });
  preload().then(() => console.log("fetched"), ({ message }) => console.log(message.replace(/^.*: /, "")));
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

test.each([
  ["esm", {}, "fetched"],
  ["cjs", {}, "fetched"],
  // Only this one needs it.
  ["esm", { publicAddressesOnly: true }, "ERR_MODULE_NOT_FOUND"],
] as const)("a set in a bundle, %s, without undici, with the options %j", async (format, connections, printed) => {
  const server = await rawServer(() => [jsonAnswer(JSON.stringify({ keys: [testKey("a").jwk] }))]);
  const program = await bundle(empty, format, FETCHING);
  const args = [`http://127.0.0.1:${server.port}/jwks`, JSON.stringify(connections)];
  expect(await printedBy(program, args)).toBe(printed);
});

test.each(["esm", "cjs"] as const)("in a bundle, %s, that a program elsewhere loads", async (format) => {
  const starter = join(empty, "starter.mjs");
  await writeFile(starter, `import(${JSON.stringify(pathToFileURL(await bundle(installed, format)))});`);
  expect(await printedBy(starter)).toBe("function");
});

test.each(["esm", "cjs"] as const)("in a bundle, %s, as webpack makes it", async (format) => {
  // It writes the URL that the source had where the bundle was made, and takes away what it takes for a way to load code.
  const define = { "import.meta.url": JSON.stringify("file:///where/it/was/made/index.js") };
  const withoutRequire: Plugin = {
    name: "without createRequire",
    setup: (setup) => {
      setup.onResolve({ filter: /^node:module$/ }, ({ path }) => ({ path, namespace: "empty" }));
      setup.onLoad({ filter: /./, namespace: "empty" }, () => ({
        contents: "export const createRequire = undefined;",
      }));
    },
  };
  expect(await printedBy(await bundle(installed, format, GUARDING, { define, plugins: [withoutRequire] }))).toBe(
    "function",
  );
});

async function bundle(
  folder: string,
  format: "esm" | "cjs",
  contents: string = GUARDING,
  more: BuildOptions = {},
): Promise<string> {
  const outfile = join(folder, `program.${format === "esm" ? "mjs" : "cjs"}`);
  const resolveDir = fileURLToPath(new URL("..", import.meta.url));
  await build({
    stdin: { contents, resolveDir },
    outfile,
    format,
    bundle: true,
    platform: "node",
    external: ["undici", "undici/index.js"],
    logLevel: "error",
    ...more,
    logOverride: { "empty-import-meta": "silent" },
  });
  return outfile;
}

async function printedBy(program: string, args: readonly string[] = []): Promise<string> {
  // What starts the tests may set NODE_PATH, by which undici would be found anywhere.
  const { NODE_PATH: _path, ...env } = process.env;
  return (await run(process.execPath, [program, ...args], { env })).stdout.trim();
}
