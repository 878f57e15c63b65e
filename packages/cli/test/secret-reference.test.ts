import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { secretPlace, secretReader, variable } from "../src/keys/secret-reference.ts";
import { recordingContext } from "./support/recording-context.ts";

// Where a secret is, and what it is without the line end of an editor.

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-secrets-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(content: string | Uint8Array): Promise<string> {
  const path = join(folder, "secret");
  await writeFile(path, content);
  return path;
}

async function read(reference: string, env: NodeJS.ProcessEnv = {}): Promise<string | undefined> {
  const reader = await secretReader(reference, { ...recordingContext(folder), env });
  return reader?.();
}

const MISSING = { name: "CliError", code: "secret_missing" };

describe("a file", () => {
  test.each<[content: string, secret: string]>([
    ["1234", "1234"],
    ["1234\n", "1234"],
    ["1234\r\n", "1234"],
    ["1234\n\n", "1234\n"],
    ["\n1234", "\n1234"],
    [" 1234 ", " 1234 "],
    ["1234\r", "1234\r"],
    ["\ufeff1234", "1234"],
    ["", ""],
  ])("with %j has the secret %j", async (content, secret) => {
    const path = await written(content);
    expect(await read(`file:${path}`)).toBe(secret);
    expect(await read(pathToFileURL(path).href)).toBe(secret);
  });

  test("may be at a path from the working folder on, as it is written", async () => {
    const path = join(folder, "a%20b");
    await writeFile(path, "1234");
    expect(await read(`file:${relative(process.cwd(), path)}`)).toBe("1234");
    // That of a URL is escaped.
    await expect(read(`file:${path}`)).rejects.toMatchObject(MISSING);
    expect(await read(`file:${path.replace("%", "%25")}`)).toBe("1234");
  });

  test("has up to 65,536 bytes", async () => {
    expect(await read(`file:${await written("x".repeat(65_536))}`)).toHaveLength(65_536);
    await expect(read(`file:${await written("x".repeat(65_537))}`)).rejects.toMatchObject({
      ...MISSING,
      message: expect.stringMatching(/cannot be read \(secret: expected .*65,?536 bytes.*\)$/),
    });
  });

  test.each<[what: string, reference: () => Promise<string>, message: RegExp]>([
    ["that is not there", async () => `file:${join(folder, "nowhere")}`, /cannot be read \(ENOENT\)$/],
    [
      "that is a folder",
      async () => `file:${folder}`,
      /cannot be read \(secret: expected a regular file, not a FIFO, device or folder\)$/,
    ],
    ["that is not UTF-8", async () => `file:${await written(Uint8Array.of(0xff))}`, /is not UTF-8$/],
    ["on another host", async () => "file://host/secret", /has no path that can be read$/],
  ])("%s is an error that does not show its path", async (_what, reference, message) => {
    const error: unknown = await read(await reference()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ ...MISSING, message: expect.stringMatching(message) });
    expect((error as Error).message).not.toContain(folder);
  });
});

describe("a variable", () => {
  test("has its value as it is", async () => {
    expect(await read("env:PIN", { PIN: " 1234\n" })).toBe(" 1234\n");
    expect(await read("ENV:PIN", { PIN: "1" })).toBe("1");
    expect(variable("PIN", { PIN: "1" })).toBe("1");
  });

  test.each<[name: string, env: NodeJS.ProcessEnv, shown: string]>([
    ["PIN", {}, "The variable PIN is not set, and should hold a secret"],
    ["_P1", { _P1: "" }, "The variable _P1 is not set, and should hold a secret"],
    ["1234", {}, "The variable that env: names is not set, and should hold a secret"],
    ["PIN-1", {}, "The variable that env: names is not set, and should hold a secret"],
    ["pin", {}, "The variable that env: names is not set, and should hold a secret"],
    ["1PIN", {}, "The variable that env: names is not set, and should hold a secret"],
    ["", {}, "The variable that env: names is not set, and should hold a secret"],
  ])("%j with %j is missing, and only shown if it is a name", async (name, env, message) => {
    await expect(read(`env:${name}`, env)).rejects.toMatchObject({ ...MISSING, message });
  });
});

test.each(["1234", "prompt:1", "https://secrets.example", "", "environment:PIN"])(
  "%j is no reference",
  async (text) => {
    expect(await read(text)).toBeUndefined();
  },
);

test("only a function of the configuration has a place", () => {
  const placed = Object.assign(async () => "", { place: "adapters.pkcs11.pin (file:pin)" });
  expect(secretPlace(placed)).toBe("adapters.pkcs11.pin (file:pin)");
  for (const other of [undefined, "file:pin", { place: "x" }, () => "", Object.assign(() => "", { place: 7 })])
    expect(secretPlace(other)).toBeUndefined();
});
