import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./repository.mjs";

const FOLDER = join(ROOT, "test/fuzz/targets");

/** The names of the targets. They are read from the sources, because a command cannot load these before the installation. */
export function fuzzTargets() {
  const sources = readdirSync(FOLDER).map((file) => readFileSync(join(FOLDER, file), "utf8"));
  return sources.flatMap((text) => [...text.matchAll(/^ +name: "([a-z0-9-]+)",$/gm)].map(([, name = ""]) => name));
}
