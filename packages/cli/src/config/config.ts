import {
  ConfigurationError,
  type EncryptionKey,
  type JwkInput,
  type LegacyKey,
  type RouteOptions,
} from "@signpost/core";
import { assertOptions, given, isPlainObject, type OptionNames } from "@signpost/core/adapter";
import { ADAPTERS, type AdapterOptions } from "../keys/adapters.ts";

/** An entry of `keys`: a key with its URI, or only its public half. */
export interface ConfigEntry {
  /** The published `kid`. Default: the thumbprint of the key. */
  readonly keyId?: string | undefined;
  /** Key URI of a key that signs, now or in the future. */
  readonly signer?: string | undefined;
  /** A key that no longer signs: a public JWK, or SPKI PEM. */
  readonly publicKey?: JwkInput | string | undefined;
}

/** An entry of a schedule. Dates are RFC 3339 texts. */
export interface ScheduledConfigEntry extends ConfigEntry {
  readonly announcedFrom: string | Date;
  readonly activeFrom: string | Date;
  readonly emergencyAt?: string | Date | undefined;
}

/** `keys` as a schedule: the entries, and the options of `createRotationSchedule`. */
export interface ConfigSchedule {
  readonly entries: readonly ScheduledConfigEntry[];
  readonly maxTokenLifetimeSeconds: number;
  readonly announceHours?: number | undefined;
  readonly sharedCaches?: boolean | undefined;
  readonly rotationWindowHours?: number | undefined;
  readonly hintAcceptanceHours?: number | undefined;
  readonly clockSkewSeconds?: number | undefined;
}

/** The configuration, with the names of members checked. The values are checked by what uses them. */
export interface Config extends RouteOptions {
  readonly keys: readonly ConfigEntry[] | ConfigSchedule;
  readonly encryptionKeyset?: readonly EncryptionKey[] | undefined;
  readonly legacyVerificationKeys?: readonly LegacyKey[] | undefined;
  /** Options of adapters, by the scheme of their URIs. */
  readonly adapters?: Readonly<Record<string, AdapterOptions>> | undefined;
}

const CONFIG_NAMES: OptionNames<Config & { readonly $schema: string }> = {
  $schema: true,
  issuer: true,
  mountPrefix: true,
  endpoints: true,
  allowInsecureIssuer: true,
  keys: true,
  encryptionKeyset: true,
  legacyVerificationKeys: true,
  adapters: true,
};

const ENTRY_NAMES: OptionNames<ConfigEntry> = { keyId: true, signer: true, publicKey: true };
const SCHEDULED_NAMES: OptionNames<ScheduledConfigEntry> = {
  ...ENTRY_NAMES,
  announcedFrom: true,
  activeFrom: true,
  emergencyAt: true,
};
const SCHEDULE_NAMES: OptionNames<ConfigSchedule> = {
  entries: true,
  maxTokenLifetimeSeconds: true,
  announceHours: true,
  sharedCaches: true,
  rotationWindowHours: true,
  hintAcceptanceHours: true,
  clockSkewSeconds: true,
};
const TRAILING_NAMES: OptionNames<EncryptionKey> = { keyId: true, publicKey: true, alg: true };

/**
 * Checks the names of all members, and the kinds of those that this package reads itself. `ConfigurationError.argument` is
 * the JSON path.
 */
export function readConfig(value: unknown): Config {
  assertOptions("options", value, CONFIG_NAMES);
  const config = value as Config;
  if (typeof config.issuer !== "string") throw missing("issuer", "a URL", config.issuer);
  if (isSchedule(config.keys)) readSchedule(config.keys);
  else readEntries("keys", config.keys, ENTRY_NAMES);
  for (const name of ["encryptionKeyset", "legacyVerificationKeys"] as const) {
    if (config[name] === undefined) continue;
    eachOf(name, config[name], (path, entry) => assertOptions(path, entry, TRAILING_NAMES));
  }
  readAdapters(config.adapters);
  return config;
}

export function isSchedule(keys: Config["keys"]): keys is ConfigSchedule {
  return isPlainObject(keys);
}

function readSchedule(schedule: ConfigSchedule): void {
  assertOptions("keys", schedule, SCHEDULE_NAMES);
  readEntries("keys.entries", schedule.entries, SCHEDULED_NAMES);
}

function readEntries<Entry extends ConfigEntry>(path: string, entries: unknown, names: OptionNames<Entry>): void {
  eachOf(path, entries, (place, entry) => {
    assertOptions(place, entry, names);
    const { signer } = entry as ConfigEntry;
    if (signer !== undefined && typeof signer !== "string") throw missing(`${place}.signer`, "a key URI", signer);
  });
}

function eachOf(path: string, list: unknown, read: (path: string, entry: unknown) => void): void {
  if (!Array.isArray(list)) throw missing(path, path === "keys" ? "a list of entries, or a schedule" : "a list", list);
  for (const [index, entry] of list.entries()) read(`${path}[${index}]`, entry);
}

const SCHEMES = Object.fromEntries(Object.keys(ADAPTERS).map((scheme) => [scheme, true as const]));

function readAdapters(adapters: unknown): void {
  if (adapters === undefined) return;
  assertOptions<Record<string, unknown>>("adapters", adapters, SCHEMES);
  for (const [scheme, options] of Object.entries(Object(adapters))) {
    if (!isPlainObject(options)) throw missing(`adapters.${scheme}`, "an object", options);
    // Each of the others has options, and checks them itself.
    if (scheme === "local") assertOptions("adapters.local", options, {});
  }
}

function missing(path: string, expected: string, value: unknown): ConfigurationError {
  return new ConfigurationError(path, `expected ${expected}, got ${value === undefined ? "nothing" : given(value)}`);
}
