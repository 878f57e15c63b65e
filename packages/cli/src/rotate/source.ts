import { basename, extname } from "node:path";
import { createJwksEndpoint } from "@signpost/core";
import { isPlainObject } from "@signpost/core/adapter";
import {
  isSchedule,
  readConfig,
  readSchedule,
  type Config,
  type ConfigEntry,
  type ConfigSchedule,
} from "../config/config.ts";
import { findConfig } from "../config/find-config.ts";
import { decodeText, loadFile, parseJson, readBytes } from "../config/load-file.ts";
import { keyUriScheme } from "../keys/adapters.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT } from "../program/exit-codes.ts";
import { at } from "../program/place.ts";

/** A file that was read, unchecked. */
export interface SourceFile {
  readonly path: string;
  /** For messages. */
  readonly name: string;
  /** What is in a JSON file. Undefined for a configuration that is code. */
  readonly bytes: Uint8Array | undefined;
  readonly value: unknown;
  /** The file contains only a schedule: the value of `keys`. */
  readonly isBare: boolean;
}

/** The keys that a file plans. */
export interface RotationSource {
  readonly file: SourceFile;
  /** Undefined if the file contains only a schedule. */
  readonly config: Config | undefined;
  readonly keys: Config["keys"];
}

/** Finds and reads the file, and checks nothing. */
export async function readSource({ cwd }: CliContext, named: string | undefined): Promise<SourceFile> {
  const path = await findConfig(cwd, named);
  const name = basename(path);
  const bytes = extname(path) === ".json" ? await readBytes(path) : undefined;
  const value = bytes === undefined ? await loadFile(path) : await parseJson(decodeText(bytes, path), name);
  const isBare = isPlainObject(value) && "entries" in value && !("keys" in value) && !("issuer" in value);
  return { path, name, bytes, value, isBare };
}

/** Finds and reads the file, and checks names and kinds. */
export async function loadSource(context: CliContext, named: string | undefined): Promise<RotationSource> {
  return checkSource(await readSource(context, named));
}

/** Checks the names and kinds in a file. */
export function checkSource(file: SourceFile): Promise<RotationSource> {
  return at(`${file.name}: `, async () => {
    const config = file.isBare ? undefined : readConfig(file.value);
    const source = { file, config, keys: config === undefined ? readSchedule(file.value) : config.keys };
    await requireKeyUris(source);
    return source;
  });
}

/** These commands print URIs of keys that they do not open, and one that no backend has may be a secret. */
async function requireKeyUris(source: RotationSource): Promise<void> {
  const { keys } = source;
  for (const [index, { signer }] of (isSchedule(keys) ? keys.entries : keys).entries()) {
    if (signer !== undefined) await at(`${entriesPath(source)}[${index}].signer: `, () => keyUriScheme(signer));
  }
}

/** Where the entries are in the file, as a JSON path. */
export function entriesPath({
  file,
  keys,
}: Pick<RotationSource, "keys"> & { file: Pick<SourceFile, "isBare"> }): string {
  if (!isSchedule(keys)) return "keys";
  return file.isBare ? "entries" : "keys.entries";
}

/** The schedule of a file, or a refusal that says what to write. */
export function requireSchedule({ file, keys }: RotationSource): ConfigSchedule {
  if (isSchedule(keys)) return keys;
  throw new CliError(EXIT.usage, "no_schedule", `${file.name}: keys is a list, which has no dates to rotate by`, {
    hint: [
      'Write a schedule in its place: { "maxTokenLifetimeSeconds": 3600, "entries": […] }, whose entries also have',
      "announcedFrom and activeFrom. announce and emergency do that for you with --max-token-lifetime SECONDS",
    ].join(" "),
  });
}

/** The URL of the key set, if the file says which OP has it. */
export function jwksUriOf({ config }: RotationSource): string | undefined {
  if (config === undefined) return undefined;
  const { issuer, mountPrefix, endpoints, allowInsecureIssuer } = config;
  // Only its address is needed, so its source of keys is never called.
  const keys = (): never => {
    throw new TypeError("there are no keys");
  };
  return createJwksEndpoint({ issuer, mountPrefix, endpoints, allowInsecureIssuer, keys }).jwksUri;
}

/** What people call an entry: its kid, or what the file says of its key. */
export function labelOf(entry: ConfigEntry, path: string): string {
  return entry.keyId ?? entry.signer ?? path;
}
