import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort, startProcess } from "@signpost/test-backends/process";
import { expect, onTestFinished, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const page = await readFile(join(ROOT, "docs/start.md"), "utf8");
/** The two programs, and what the page says that the second one prints. */
const [op = "", rp = ""] = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
const [, printed = ""] = /It prints:\n\n```\n([\s\S]*?)```/.exec(page) ?? [];

/** The programs of the page in a folder from which Node finds the packages, with another port. */
async function saved(port: number): Promise<string> {
  const cache = join(ROOT, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "start-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "op.mjs"), op.replaceAll("3000", String(port)));
  await writeFile(join(folder, "rp.mjs"), rp.replaceAll("3000", String(port)));
  return folder;
}

test("the programs of the first guide run as they stand, and print what it says: a rotation that the RP survives", async () => {
  const port = await freePort();
  const folder = await saved(port);
  const provider = startProcess({ command: process.execPath, args: [join(folder, "op.mjs")] });
  onTestFinished(() => provider.stop());
  await expect
    .poll(
      () =>
        fetch(`http://localhost:${port}/jwks`).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 30_000 },
    )
    .toBe(200);

  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "rp.mjs")]);
  expect(stdout).toBe(printed);
  expect(printed.trim().split("\n")).toHaveLength(4);

  const jwks = await fetch(`http://localhost:${port}/jwks`);
  const { keys } = (await jwks.json()) as { keys: { kid: string }[] };
  expect(keys.map(({ kid }) => kid)).toEqual(["second", "first"]);
  expect(jwks.headers.get("content-type")).toBe("application/jwk-set+json");
});
