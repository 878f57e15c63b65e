import { basename } from "node:path";
import type { CliContext } from "../program/context.ts";
import { readConfig, type Config } from "./config.ts";
import { findConfig } from "./find-config.ts";
import { loadFile } from "./load-file.ts";
import { at } from "../program/place.ts";

/** A configuration and the name of its file, for messages. */
export interface LoadedConfig {
  readonly config: Config;
  readonly name: string;
}

/** Finds, loads and checks the configuration. */
export async function loadConfig({ cwd }: CliContext, named: string | undefined): Promise<LoadedConfig> {
  const path = await findConfig(cwd, named);
  const name = basename(path);
  const value = await loadFile(path);
  return { config: await at(`${name}: `, () => readConfig(value)), name };
}
