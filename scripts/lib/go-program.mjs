import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram, run } from "./process.mjs";
import { cacheFolder, ROOT } from "./repository.mjs";
import { say } from "./say.mjs";

/**
 * Builds the test backend in `test/backends/go/<name>` as `<cache>/<name>/<name>`, unless its sources are unchanged. go.sum pins
 * every module by its hash. If something is missing, the error says what.
 *
 * @param {string} name
 * @param {string} [program] the Go package of the program. Default: the one in the folder
 * @param {string} [linkerFlags] for example the version, where a release build sets it
 */
export async function buildGoProgram(name, program = ".", linkerFlags = "") {
  const sources = join(ROOT, "test/backends/go", name);
  const folder = join(cacheFolder(), name);
  const file = join(folder, name);
  const marker = join(folder, "built-from");
  const digest = digestOf(sources, linkerFlags);
  if (existsSync(file) && existsSync(marker) && readFileSync(marker, "utf8") === digest) return;
  if (findProgram("go") === undefined) throw new Error(`go not found, and ${name} is built with Go`);

  say(`Building ${name}`);
  mkdirSync(folder, { recursive: true });
  // Built under another name and renamed. An interrupted build never runs, and a running program is not disturbed.
  const unfinished = `${file}.${process.pid}`;
  const flags = [
    "-mod=readonly",
    "-trimpath",
    "-buildvcs=false",
    ...(linkerFlags === "" ? [] : ["-ldflags", linkerFlags]),
  ];
  const args = ["build", ...flags, "-o", unfinished, program];
  const { ok, output } = await run("go", args, {
    cwd: sources,
    env: { GOTOOLCHAIN: "local", GOFLAGS: "", ...(program === "." ? {} : { CGO_ENABLED: "0" }) },
    quiet: true,
  });
  if (!ok) throw new Error(`${name} could not be built:\n${output}`);
  renameSync(unfinished, file);
  writeFileSync(marker, digest);
}

/** @param {string} folder @param {string} linkerFlags */
function digestOf(folder, linkerFlags) {
  const hash = createHash("sha256").update(linkerFlags);
  for (const file of readdirSync(folder).toSorted()) hash.update(file).update(readFileSync(join(folder, file)));
  return hash.digest("hex");
}
