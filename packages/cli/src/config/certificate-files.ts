import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigurationError } from "@signpost/core";
import { readRegularFile } from "@signpost/core/adapter";
import { isSchedule, type Config, type ConfigEntry } from "./config.ts";

/** More than any chain and any list of trust anchors that a key set accepts. */
const MAX_BYTES = 1_048_576;

/** The configuration with the content of each file that `certificates` name as `file:PATH`. A path starts at the working folder. */
export async function readCertificateFiles(config: Config, cwd: string): Promise<Config> {
  const { keys } = config;
  if (!isSchedule(keys)) return { ...config, keys: await readAll(keys, "keys", cwd) };
  return { ...config, keys: { ...keys, entries: await readAll(keys.entries, "keys.entries", cwd) } };
}

/** An entry for a check that has another key in place of the one that the certificates are for. */
export function withoutCertificates<Entry extends object>(entry: Entry): Omit<Entry, "certificates"> {
  const { certificates: _, ...rest }: Entry & { readonly certificates?: unknown } = entry;
  return rest;
}

function readAll<Entry extends ConfigEntry>(entries: readonly Entry[], path: string, cwd: string): Promise<Entry[]> {
  return Promise.all(
    entries.map(async (entry, index) => {
      const { certificates } = entry;
      if (certificates === undefined) return entry;
      const place = `${path}[${index}].certificates`;
      const chain = await contentOf(certificates.chain, `${place}.chain`, cwd);
      const trustAnchors = await contentOf(certificates.trustAnchors, `${place}.trustAnchors`, cwd);
      return { ...entry, certificates: { ...certificates, chain, trustAnchors } };
    }),
  );
}

/** The content of the file that an option names as `file:PATH`. Any other value is returned as it is. */
export async function contentOf<Value>(value: Value, place: string, cwd: string): Promise<Value | string> {
  if (typeof value !== "string" || !/^file:/i.test(value)) return value;
  const path = value.slice("file:".length);
  try {
    const found = path.startsWith("/") ? fileURLToPath(`file:${path}`) : resolve(cwd, path);
    return new TextDecoder().decode(await readRegularFile("file", found, MAX_BYTES));
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw new ConfigurationError(place, cause.message, { cause });
    const code = Reflect.get(Object(cause), "code");
    const why = typeof code === "string" ? code : "its path has no meaning";
    throw new ConfigurationError(place, `the file cannot be read (${why})`, { cause });
  }
}
