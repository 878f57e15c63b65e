import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
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
