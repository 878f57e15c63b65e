import {
  ConfigurationError,
  createRotationSchedule,
  ecPointToJwk,
  type GuardedSigner,
  type KeySetEntry,
  type KeySetSource,
  type P256PublicJwk,
  type Signer,
  type ScheduledEntry,
} from "@signpost/core";
import { createSigner, readOwnKeys } from "@signpost/core/adapter";
import { createECDH } from "node:crypto";
import type { AdapterOptions } from "../keys/adapters.ts";
import { keyOpener, type OpenKey } from "../keys/open-key.ts";
import type { CliContext } from "../program/context.ts";
import { withoutCertificates } from "./certificate-files.ts";
import { resolveSecrets } from "./adapter-options.ts";
import { isSchedule, type Config, type ConfigEntry } from "./config.ts";
import { loadConfig, type LoadedConfig } from "./load-config.ts";
import { at } from "../program/place.ts";

/** The keys of a configuration, opened. */
export interface ConfigKeys {
  readonly keys: KeySetSource;
  close(): Promise<void>;
}

/** What opens the keys of a configuration, with its options for adapters. */
async function configOpener(loaded: LoadedConfig, context: CliContext): Promise<OpenKey> {
  return keyOpener(context, await resolvedAdapters(loaded, context));
}

/** The options of adapters, by scheme, with the secrets that they refer to. */
export async function resolvedAdapters(
  { config, name }: LoadedConfig,
  context: CliContext,
): Promise<Readonly<Record<string, AdapterOptions>>> {
  const { adapters = {} } = config;
  const resolved = await at(`${name}: `, () => resolveSecrets("adapters", adapters, context));
  return resolved as Readonly<Record<string, AdapterOptions>>;
}

/** What opens a key that the command line names. A configuration is read only if the command line names it too. */
export async function uriOpener(context: CliContext, config: string | undefined): Promise<OpenKey> {
  return config === undefined ? keyOpener(context) : configOpener(await loadConfig(context, config), context);
}

/** The entries of a configuration, and their JSON path. */
export function entriesOf({ keys }: Config): { readonly list: readonly ConfigEntry[]; readonly path: string } {
  return isSchedule(keys) ? { list: keys.entries, path: "keys.entries" } : { list: keys, path: "keys" };
}

/** Opens all keys of a configuration. If one fails, none stays open. */
export async function openConfigKeys(loaded: LoadedConfig, context: CliContext): Promise<ConfigKeys> {
  const { config, name } = loaded;
  const open = await configOpener(loaded, context);
  const { list, path } = entriesOf(config);
  const opened: GuardedSigner[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((signer) => signer.close()));
  };
  try {
    const entries = await inOrder(list, async (entry, index) => {
      const { signer: uri, ...rest } = entry;
      if (uri === undefined) return rest as KeySetEntry;
      const signer = await at(`${name}: ${path}[${index}].signer: `, () => open(uri));
      opened.push(signer);
      return { ...rest, signer };
    });
    return { keys: await readConfigKeys(loaded, entries), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Refuses what only the keys together can be wrong in: dates, lifetimes, a `keyId` that is there twice, other published keys. Opens
 * nothing: a new key stands for each that signs, so certificates are not checked.
 */
export async function requireConsistentKeys(loaded: LoadedConfig): Promise<void> {
  const { list } = entriesOf(loaded.config);
  const entries = list.map(({ signer, ...entry }): KeySetEntry => {
    const rest = withoutCertificates(entry);
    return signer === undefined ? (rest as KeySetEntry) : { ...rest, signer: standIn() };
  });
  await readConfigKeys(loaded, entries);
}

/** A signer that has a public key and signs nothing. Without a key, it has a new one. */
export function standIn(publicKey: P256PublicJwk = newPublicKey()): Signer {
  return createSigner({
    uri: "local:",
    publicKey,
    signDigest: () => Promise.reject(new TypeError("this key signs nothing")),
    close: () => Promise.resolve(),
  });
}

function newPublicKey(): P256PublicJwk {
  // Without a key object: Node 20 may stand still for good while it exports one that it generated.
  return ecPointToJwk(createECDH("prime256v1").generateKeys());
}

/** One after the other, since a person may have to type a PIN for each. */
export async function inOrder<Result>(
  entries: readonly ConfigEntry[],
  work: (entry: ConfigEntry, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [index, entry] of entries.entries()) results.push(await work(entry, index));
  return results;
}

/**
 * The source of the key set: the entries, in the order of the configuration, with all else that it says about them. A schedule
 * reads `now`, which is milliseconds since the epoch.
 */
export function readConfigKeys(
  { config, name }: LoadedConfig,
  entries: readonly KeySetEntry[],
  now?: () => number,
): Promise<KeySetSource> {
  const { keys, encryptionKeyset, legacyVerificationKeys } = config;
  const trailing = { encryptionKeyset, legacyVerificationKeys };
  if (!isSchedule(keys)) return at(`${name}: `, () => readOwnKeys(entries, trailing).source);
  const { entries: _given, ...options } = keys;
  return at(`${name}: `, () => {
    try {
      return createRotationSchedule(entries as readonly ScheduledEntry[], { ...options, ...trailing, now });
    } catch (error) {
      throw error instanceof ConfigurationError && !/^(?:encryption|legacy)/.test(error.argument)
        ? below(error)
        : error;
    }
  });
}

/** The schedule calls its entries and options by their own names, and they are members of `keys`. */
function below(error: ConfigurationError): ConfigurationError {
  const expected = error.message.slice(`${error.argument}: `.length);
  return new ConfigurationError(`keys.${error.argument}`, expected, { cause: error });
}
