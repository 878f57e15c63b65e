import { basename, dirname, resolve } from "node:path";
import { ConfigurationError } from "@signpost/core";
import { afterScheme, readRegularFile } from "@signpost/core/adapter";
import type { KubernetesLegacyKey } from "../signer-types.ts";
import { withFolder } from "./adapter-paths.ts";
import type { Config, ConfigSchedule } from "./config.ts";
import { readJson } from "./json.ts";
import { readConfig, readSchedule } from "./read-config.ts";

/** A configuration, with what its other files contain. */
export interface LoadedConfig {
  readonly config: Config;
  /** Undefined if the configuration has `keys`. */
  readonly schedule: ConfigSchedule | undefined;
  readonly legacyKeys: readonly KubernetesLegacyKey[];
  /** `-`, or the absolute path of the audit file. Undefined if the configuration has none. */
  readonly audit: string | undefined;
}

const MAX_CONFIG_BYTES = 1_048_576;
const MAX_KEY_BYTES = 65_536;

/** Loads and checks a configuration. Paths in it start at its folder. */
export async function loadConfig(path: string): Promise<LoadedConfig> {
  const folder = dirname(resolve(path));
  const read = readConfig(readJson(basename(path), await readFile("--config", path, MAX_CONFIG_BYTES)));
  const config = { ...read, adapters: withFolder(read.adapters, folder) };
  const legacyKeys = await Promise.all(
    (config.legacyKeys ?? []).map(async ({ publicKeyFile, excludeFromDiscovery }, index) => {
      const argument = `legacyKeys[${index}].publicKeyFile`;
      const publicKey = textOf(await readFile(argument, resolve(folder, publicKeyFile), MAX_KEY_BYTES));
      return { publicKey, excludeFromDiscovery };
    }),
  );
  const audit = config.audit === undefined || config.audit === "-" ? config.audit : resolve(folder, config.audit);
  return { config, schedule: await scheduleOf(config, folder), legacyKeys, audit };
}

/** With the longest lifetime of the configuration: there is one setting for what kube-apiserver is told and what keys are kept for. */
async function scheduleOf(
  { schedule, maxTokenLifetimeSeconds }: Config,
  folder: string,
): Promise<ConfigSchedule | undefined> {
  if (schedule === undefined) return undefined;
  const read = typeof schedule === "string" ? await fromFile(schedule, folder) : schedule;
  const { maxTokenLifetimeSeconds: own = maxTokenLifetimeSeconds } = read;
  if (own === maxTokenLifetimeSeconds) return { ...read, maxTokenLifetimeSeconds };
  const problem = `expected ${maxTokenLifetimeSeconds}, which is maxTokenLifetimeSeconds of the configuration, or nothing`;
  throw new ConfigurationError("schedule.maxTokenLifetimeSeconds", problem);
}

async function fromFile(reference: string, folder: string): Promise<ConfigSchedule> {
  const path = afterScheme(reference, "file");
  if (path === undefined || path === "") {
    throw new ConfigurationError("schedule", "expected a schedule, or file:PATH of a file with a schedule");
  }
  const bytes = await readFile("schedule", resolve(folder, path), MAX_CONFIG_BYTES);
  return readSchedule(readJson(basename(path), bytes), "");
}

async function readFile(argument: string, path: string, maxBytes: number): Promise<Uint8Array> {
  try {
    return await readRegularFile(argument, path, maxBytes);
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    const code = String(Reflect.get(Object(cause), "code"));
    throw new ConfigurationError(argument, `the file cannot be read (${code})`, { cause });
  }
}

/** Without a byte order mark. */
function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
