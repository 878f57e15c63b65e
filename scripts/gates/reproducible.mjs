import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { must } from "../release/must.mjs";
import { prepareConsumer } from "./consumer.mjs";

/** Builds and packs a copy of the sources in another folder, and checks that each tarball has the same bytes. */
export async function checkReproducible() {
  const { tarballs } = await prepareConsumer();
  const clone = join(ROOT, ".tmp/reproducible/clone");
  const again = join(ROOT, ".tmp/reproducible/tarballs");
  try {
    await copySources(clone);
    const program = join(clone, "scripts/gates/reproducible/pack-again.mjs");
    must("The second build", await run(process.execPath, [program, again], { cwd: clone, quiet: true }));
  } finally {
    // The copy has tests, which a test runner in the clone would find.
    rmSync(clone, { recursive: true, force: true });
  }
  const problems = await Promise.all(tarballs.map((tarball) => differences(tarball, join(again, basename(tarball)))));
  return { ok: problems.flat().length === 0, output: problems.flat().join("\n") };
}

/**
 * Copies what git would, and nothing that was built. Dependencies are links, as pnpm makes them.
 *
 * @param {string} clone
 */
async function copySources(clone) {
  rmSync(clone, { recursive: true, force: true });
  const listed = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], { quiet: true });
  must("git ls-files", listed);
  for (const file of listed.output.split("\0").filter((name) => name !== "" && existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    cpSync(join(ROOT, file), join(clone, file));
  }
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
  for (const { folder } of publicPackages()) {
    const modules = join(folder, "node_modules");
    if (existsSync(join(ROOT, modules))) {
      cpSync(join(ROOT, modules), join(clone, modules), { recursive: true, verbatimSymlinks: true });
    }
  }
}

/**
 * @param {string} one
 * @param {string} other
 * @returns {Promise<string[]>}
 */
export async function differences(one, other) {
  if (!existsSync(other)) return [`${basename(one)} was not packed again`];
  if (digestOf(readFileSync(one)) === digestOf(readFileSync(other))) return [];
  const [first, second] = await Promise.all([contentOf(one), contentOf(other)]);
  const names = [...new Set([...first.keys(), ...second.keys()])];
  const differing = names.filter((name) => first.get(name) !== second.get(name));
  return [`${basename(one)} has other bytes each time: ${differing.join(", ") || "only the archive itself"}`];
}

/** The digest of every file in a tarball. @param {string} tarball @returns {Promise<Map<string, string>>} */
async function contentOf(tarball) {
  const folder = `${tarball}.content`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  must(`tar ${tarball}`, await run("tar", ["-xzf", tarball, "-C", folder], { quiet: true }));
  const list = await run("tar", ["-tzf", tarball], { quiet: true });
  const names = list.output.split("\n").filter((name) => name !== "" && !name.endsWith("/"));
  const digests = new Map(names.map((name) => [name, digestOf(readFileSync(join(folder, name)))]));
  rmSync(folder, { recursive: true, force: true });
  return digests;
}

/** @param {Uint8Array} bytes */
function digestOf(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
