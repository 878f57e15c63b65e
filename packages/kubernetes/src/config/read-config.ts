import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, isPlainObject, type OptionNames, readText } from "@signpost/core/adapter";
import { ADAPTERS, keyUriScheme } from "../backends/adapters.ts";
import type {
  Config,
  ConfigAdmin,
  ConfigKey,
  ConfigLegacyKey,
  ConfigPublicJwks,
  ConfigSchedule,
  ConfigScheduledKey,
} from "./config.ts";

const CONFIG_NAMES: OptionNames<Config> = {
  $schema: true,
  issuer: true,
  socket: true,
  maxTokenLifetimeSeconds: true,
  refreshHintSeconds: true,
  keys: true,
  schedule: true,
  legacyKeys: true,
  adapters: true,
  admin: true,
  audit: true,
  publicJwks: true,
};
const KEY_NAMES: OptionNames<ConfigKey> = { keyId: true, uri: true, publicKey: true };
const SCHEDULED_NAMES: OptionNames<ConfigScheduledKey> = {
  keyId: true,
  signer: true,
  publicKey: true,
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
const LEGACY_NAMES: OptionNames<ConfigLegacyKey> = { publicKeyFile: true, excludeFromDiscovery: true };
const ADMIN_NAMES: OptionNames<ConfigAdmin> = { host: true, port: true };
const PUBLIC_NAMES: OptionNames<ConfigPublicJwks> = { host: true, port: true, issuer: true, path: true };
const ADAPTER_NAMES = Object.fromEntries(Object.keys(ADAPTERS).map((scheme) => [scheme, true as const]));

/** Checks the names of all members, and what this package reads itself. `ConfigurationError.argument` is the JSON path. */
export function readConfig(value: unknown): Config {
  assertOptions("options", value, CONFIG_NAMES);
  const config = value as Config;
  readText("issuer", config.issuer);
  if ((config.keys === undefined) === (config.schedule === undefined)) {
    const got = config.keys === undefined ? "neither" : "both";
    throw new ConfigurationError("keys", `expected either keys or schedule, got ${got}`);
  }
  if (config.keys !== undefined) eachOf("keys", config.keys, checkKey);
  if (isPlainObject(config.schedule)) readSchedule(config.schedule, "schedule");
  else if (config.schedule !== undefined && typeof config.schedule !== "string") {
    throw new ConfigurationError("schedule", `expected a schedule or file:PATH, got ${given(config.schedule)}`);
  }
  if (config.legacyKeys !== undefined) eachOf("legacyKeys", config.legacyKeys, checkLegacyKey);
  checkAdapters(config.adapters);
  if (config.admin !== undefined) assertOptions("admin", config.admin, ADMIN_NAMES);
  if (config.publicJwks !== undefined) assertOptions("publicJwks", config.publicJwks, PUBLIC_NAMES);
  if (config.audit !== undefined) readText("audit", config.audit);
  return config;
}

/** Checks the names of a schedule, and its URIs. `place` is its JSON path, or empty for a file that contains only the schedule. */
export function readSchedule(value: unknown, place: string): ConfigSchedule {
  assertOptions(place === "" ? "options" : place, value, SCHEDULE_NAMES);
  const schedule = value as ConfigSchedule;
  eachOf(place === "" ? "entries" : `${place}.entries`, schedule.entries, (path, entry) => {
    assertOptions(path, entry, SCHEDULED_NAMES);
    checkUri(`${path}.signer`, Reflect.get(Object(entry), "signer"));
  });
  return schedule;
}

function checkKey(path: string, entry: unknown): void {
  assertOptions(path, entry, KEY_NAMES);
  checkUri(`${path}.uri`, Reflect.get(Object(entry), "uri"));
}

function checkLegacyKey(path: string, entry: unknown): void {
  assertOptions(path, entry, LEGACY_NAMES);
  readText(`${path}.publicKeyFile`, Reflect.get(Object(entry), "publicKeyFile"));
}

function checkUri(path: string, uri: unknown): void {
  if (uri !== undefined) keyUriScheme(path, uri);
}

function checkAdapters(adapters: unknown): void {
  if (adapters === undefined) return;
  assertOptions<Record<string, unknown>>("adapters", adapters, ADAPTER_NAMES);
  for (const [scheme, options] of Object.entries(Object(adapters))) {
    if (isPlainObject(options)) continue;
    throw new ConfigurationError(`adapters.${scheme}`, `expected an object, got ${given(options)}`);
  }
}

function eachOf(path: string, list: unknown, check: (path: string, entry: unknown) => void): void {
  if (!Array.isArray(list) || (list.length === 0 && path !== "legacyKeys")) {
    throw new ConfigurationError(
      path,
      `expected a list with an entry, got ${list === undefined ? "nothing" : given(list)}`,
    );
  }
  for (const [index, entry] of list.entries()) check(`${path}[${index}]`, entry);
}
