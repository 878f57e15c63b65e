import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT, scratchFolder } from "../../../scripts/lib/repository.mjs";
import { hashName } from "./corpus.ts";

/** Saves an input that breaks a property. Returns its path from the clone. */
export function saveFailure(target: string, input: Uint8Array): string {
  const path = join(scratchFolder("fuzz"), `${target}-${hashName(input)}`);
  writeFileSync(path, input);
  return relative(ROOT, path);
}
