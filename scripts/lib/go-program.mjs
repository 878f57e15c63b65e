import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram, run } from "./process.mjs";
import { cacheFolder, ROOT } from "./repository.mjs";
import { say } from "./say.mjs";

/**
 * Builds a test backend whose main package is `test/backends/go/<name>`, once per state of its sources, as
 * `<cache>/<name>/<name>`. go.sum pins every module by its hash. Throws an error that says what is missing.
 *
 * @param {string} name
 */
export async function buildGoProgram(name) {
  const sources = join(ROOT, "test/backends/go", name);
  const folder = join(cacheFolder(), name);
  const program = join(folder, name);
  const marker = join(folder, "built-from");
  const digest = digestOf(sources);
  if (existsSync(program) && existsSync(marker) && readFileSync(marker, "utf8") === digest) return;
  if (findProgram("go") === undefined) throw new Error(`${name} is built with Go, and there is no \`go\``);

  say(`Building ${name}`);
  mkdirSync(folder, { recursive: true });
  // Built beside and renamed, so that an interrupted build is never run and a running program is not disturbed.
  const unfinished = `${program}.${process.pid}`;
  const args = ["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", unfinished, "."];
  const { ok, output } = await run("go", args, {
    cwd: sources,
    env: { GOTOOLCHAIN: "local", GOFLAGS: "" },
    quiet: true,
  });
  if (!ok) throw new Error(`${name} could not be built:\n${output}`);
  renameSync(unfinished, program);
  writeFileSync(marker, digest);
}

/** @param {string} folder */
function digestOf(folder) {
  const hash = createHash("sha256");
  for (const file of readdirSync(folder).toSorted()) hash.update(file).update(readFileSync(join(folder, file)));
  return hash.digest("hex");
}
