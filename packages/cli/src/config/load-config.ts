import { basename } from "node:path";
import type { CliContext } from "../program/context.ts";
import { readCertificateFiles } from "./certificate-files.ts";
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
  return loadConfigFile(await findConfig(cwd, named), cwd);
}

/** Loads and checks the configuration in a file, with the certificates in other files. `version` is that of `loadFile`. */
export async function loadConfigFile(path: string, cwd: string, version?: number): Promise<LoadedConfig> {
  const name = basename(path);
  const value = await loadFile(path, version);
  return { config: await at(`${name}: `, () => readCertificateFiles(readConfig(value), cwd)), name };
}
