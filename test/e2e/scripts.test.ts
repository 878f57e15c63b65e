import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SCRIPTS = fileURLToPath(new URL("../../scripts/", import.meta.url));

/** These run in projects that have been installed. */
const INSTALLED = "gates/runtimes/programs/";

test("a fresh clone can start every script: what has to be installed is imported later", () => {
  const files = readdirSync(SCRIPTS, { encoding: "utf8", recursive: true }).filter(
    (file) => file.endsWith(".mjs") && !file.startsWith(INSTALLED),
  );
  expect(files.length).toBeGreaterThan(50);
  const imports = files.flatMap((file) =>
    [...readFileSync(`${SCRIPTS}${file}`, "utf8").matchAll(/^(?:import(?! type)|\}) [^"`]*?from "([^"]+)";$/gm)].map(
      ([, name]) => `${file}: ${name}`,
    ),
  );
  expect(imports.length).toBeGreaterThan(100);
  expect(imports.filter((line) => !/: (?:node:|\.)/.test(line))).toEqual([]);
});

/** Runs a script with arguments that end it at once. */
async function ending(script: string, ...args: readonly string[]): Promise<{ code: unknown; said: string }> {
  const run = promisify(execFile)(process.execPath, [`${SCRIPTS}${script}.mjs`, ...args]);
  const { code, stdout, stderr } = await run.then(
    (ended) => ({ code: 0, ...ended }),
    (error: { code: unknown; stdout: string; stderr: string }) => error,
  );
  return { code, said: `${stdout}${stderr}` };
}

const COMMANDS = ["api", "bench", "dependencies", "docs", "faults", "fuzz", "mutate", "pictures", "release"];

test.each(COMMANDS.flatMap((script) => ["--help", "-h"].map((option) => [script, option] as const)))(
  "npm run %s shows the usage and nothing else with %s",
  async (script, option) => {
    const { code, said } = await ending(script, option);
    expect(code).toBe(0);
    expect(said).toMatch(/^Usage: npm run \w+.*\n$/);
    expect(said).toContain(`Usage: npm run ${script}`);
  },
);

test.each(COMMANDS)("npm run %s refuses an option that it does not know, and shows the usage", async (script) => {
  const { code, said } = await ending(script, "--wrong");
  expect(code).toBe(2);
  expect(said).toMatch(/^Unknown option '--wrong'\nUsage: npm run \w+.*\n$/);
  expect(said).toContain(`Usage: npm run ${script}`);
});

test.each([
  ["bench", "Unknown benchmark: nosuch. Known benchmarks: aws-kms-https,"],
  ["faults", "Unknown backend: nosuch. Known backends: local,"],
  ["fuzz", "Unknown target: nosuch. Known targets: aws-answer,"],
  ["mutate", "There is no packages/nosuch/src"],
])("npm run %s refuses a name that it does not know, and lists those that it knows", async (script, beginning) => {
  const { code, said } = await ending(script, "nosuch");
  expect(code).toBe(2);
  expect(said.slice(0, beginning.length)).toBe(beginning);
});
