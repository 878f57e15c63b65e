import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";

/** The names that are looked for, in the working folder only: a configuration may be code. */
export const CONFIG_NAMES = ["signpost.config.json", "signpost.config.mjs", "signpost.config.ts"] as const;

/** The path of the configuration: the one that was named, or the only one in the working folder. */
export async function findConfig(cwd: string, named: string | undefined): Promise<string> {
  if (named !== undefined) return resolve(cwd, named);
  const paths = CONFIG_NAMES.map((name) => resolve(cwd, name));
  const present = await Promise.all(paths.map(exists));
  const [path, ...others] = paths.filter((_, index) => present[index]);
  if (path === undefined) {
    throw new CliError(EXIT.usage, "config_missing", "There is no signpost.config.json, .mjs or .ts in this folder", {
      hint: "Change to the folder that has it, or name the file with --config",
    });
  }
  if (others.length === 0) return path;
  const found = CONFIG_NAMES.filter((_, index) => present[index]).join(" and ");
  throw new CliError(EXIT.usage, "config_ambiguous", `This folder has ${found}`, {
    hint: "Remove one of them, or name the file with --config",
  });
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
