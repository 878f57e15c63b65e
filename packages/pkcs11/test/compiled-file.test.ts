import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { compiledFile, requireNode, requireProgram } from "../src/wire/compiled-file.ts";

const run = promisify(execFile);
const refused = expect.stringContaining("keep @signpost/pkcs11 out of the bundle") as string;

// By its first bytes the module is a library. Nothing of it is loaded.
const program = `
import { openPkcs11Signer } from "./index.mjs";
const options = { module: process.execPath, token: "op", object: "k1", pin: "1234" };
const opening = ["thread", "process"].map((isolation) => openPkcs11Signer({ ...options, isolation }));
console.log(JSON.stringify(await Promise.all(opening.map((one) => one.catch(({ name, message }) => ({ name, message }))))));
`;

test.each<[what: string, programs: readonly string[]]>([
  ["next to it", []],
  ["but others of the application next to it", ["worker.js", "child.js"]],
])(
  "a bundle without the package's programs %s opens no signer in either isolation, and says why",
  async (_what, others) => {
    const cache = fileURLToPath(new URL("../node_modules/.cache/", import.meta.url));
    await mkdir(cache, { recursive: true });
    const folder = await mkdtemp(join(cache, "bundle-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await copyFile(new URL("../dist/index.js", import.meta.url), join(folder, "index.mjs"));
    await writeFile(join(folder, "program.mjs"), program);
    for (const other of others)
      await writeFile(join(folder, other), `require("node:fs").writeSync(2, "${other} started");`);
    const { stdout, stderr } = await run(process.execPath, [join(folder, "program.mjs")]);
    const error = { name: "ConfigurationError", message: refused };
    expect(JSON.parse(stdout)).toEqual([error, error]);
    expect(stderr).toBe("");
  },
);

test("a CommonJS bundle does not know its own location", () => {
  expect(() => requireProgram("signpost-pkcs11-worker.js", undefined)).toThrow(
    expect.objectContaining({ argument: "@signpost/pkcs11", message: refused }),
  );
});

test("a single executable application, which would start itself, starts no child process", () => {
  const refusal = expect.objectContaining({ name: "ConfigurationError", argument: "isolation" }) as Error;
  expect(() => requireNode({ isSea: () => true })).toThrow(refusal);
  expect(() => requireNode({ isSea: () => false })).not.toThrow();
  // Bun has no such module.
  expect(() => requireNode(undefined)).not.toThrow();
});

test("the child process of a single executable application is refused", () => {
  const original = process.getBuiltinModule;
  const sea = { isSea: () => true };
  vi.spyOn(process, "getBuiltinModule").mockImplementation((id: string) => (id === "node:sea" ? sea : original(id)));
  onTestFinished(() => void vi.restoreAllMocks());
  expect(() => compiledFile("child")).toThrow(expect.objectContaining({ argument: "isolation" }));
  expect(compiledFile("worker").pathname).toMatch(/signpost-pkcs11-worker\.js$/);
});
