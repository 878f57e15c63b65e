import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

// A runbook is read once, in a hurry. Each command of `signpost` in it exists, with its options.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SIGNPOST = join(ROOT, "packages/cli/dist/bin.js");
const pages = ["emergency", "fips", "hardware", "incidents", "key-ceremony", "rotation", "threat-model"];

const lines = pages.flatMap((page) => {
  const text = readFileSync(join(ROOT, "docs", `${page}.md`), "utf8");
  const inline = [...text.matchAll(/`(signpost [^`]+)`/g)].map(([, line = ""]) => line);
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) => block.split("\n"));
  return [...inline, ...blocks.filter((line) => line.startsWith("signpost "))];
});

/** The names of the command, and the options. */
function partsOf(line: string): { readonly command: readonly string[]; readonly options: readonly string[] } {
  const words = line
    .replaceAll(/'[^']*'/g, "URI")
    .split(/\s+/)
    .slice(1);
  const command = words[0] === "rotate" || words[0] === "cert" ? words.slice(0, 2) : words.slice(0, 1);
  return { command, options: words.filter((word) => word.startsWith("--")) };
}

const used = new Map<string, Set<string>>();
for (const { command, options } of lines.map(partsOf)) {
  const name = command.join(" ");
  if (!/^[a-z]+(?: [a-z]+)?$/.test(name)) continue;
  used.set(name, new Set([...(used.get(name) ?? []), ...options]));
}

test("the runbooks have commands", () => {
  expect([...used.keys()]).toEqual(expect.arrayContaining(["doctor", "keygen", "kid", "csr", "rotate emergency"]));
});

test.each([...used])("signpost %s has the options of the runbooks", async (name, options) => {
  const args = [SIGNPOST, ...name.split(" "), "--help"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  // The help of all commands is not that of this one.
  if (name !== "rotate") expect(stdout).toContain(`signpost ${name}`);
  for (const option of options) expect(stdout).toMatch(new RegExp(`${option}\\b`));
});
