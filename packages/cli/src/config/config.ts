import {
  ConfigurationError,
  type EncryptionKey,
  type EntryCertificates,
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
  /** The certificates of the key. The chain and the trust anchors may be `file:PATH`. */
  readonly certificates?: EntryCertificates | undefined;
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

const ENTRY_NAMES: OptionNames<ConfigEntry> = {
  keyId: true,
  signer: true,
  publicKey: true,
  certificates: true,
};
const CERTIFICATES_NAMES: OptionNames<EntryCertificates> = { chain: true, trustAnchors: true, publish: true };
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
  checkConfig(value, (check) => check());
  return value as Config;
}

/** The same for a file that contains only the schedule. */
export function readSchedule(value: unknown): ConfigSchedule {
  checkSchedule("", value, (check) => check());
  return value as ConfigSchedule;
}

/** All mistakes for which `readConfig` refuses a configuration, in its order. */
export function configMistakes(value: unknown): readonly ConfigurationError[] {
  return mistakesOf((run) => checkConfig(value, run));
}

/** All mistakes for which `readSchedule` refuses a schedule. */
export function scheduleMistakes(value: unknown): readonly ConfigurationError[] {
  return mistakesOf((run) => checkSchedule("", value, run));
}

export function isSchedule(keys: Config["keys"]): keys is ConfigSchedule {
  return isPlainObject(keys);
}

/** Runs a check, which throws what it refuses. */
type RunCheck = (check: () => void) => void;

function mistakesOf(checkAll: (run: RunCheck) => void): readonly ConfigurationError[] {
  const mistakes: ConfigurationError[] = [];
  checkAll((check) => {
    try {
      check();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      mistakes.push(error);
    }
  });
  return mistakes;
}

function checkConfig(value: unknown, run: RunCheck): void {
  checkNames("options", value, CONFIG_NAMES, run);
  if (!isObject(value) || Array.isArray(value)) return;
  const config: Partial<Record<keyof Config, unknown>> = value;
  run(() => {
    if (typeof config.issuer !== "string") throw missing("issuer", "a URL", config.issuer);
  });
  if (isPlainObject(config.keys)) checkSchedule("keys", config.keys, run);
  else checkEntries("keys", config.keys, ENTRY_NAMES, run);
  for (const name of ["encryptionKeyset", "legacyVerificationKeys"] as const) {
    if (config[name] === undefined) continue;
    eachOf(name, config[name], run, (path, entry) => checkNames(path, entry, TRAILING_NAMES, run));
  }
  checkAdapters(config.adapters, run);
}

function checkSchedule(path: string, schedule: unknown, run: RunCheck): void {
  checkNames(path === "" ? "options" : path, schedule, SCHEDULE_NAMES, run);
  const { entries } = isObject(schedule) ? schedule : {};
  checkEntries(path === "" ? "entries" : `${path}.entries`, entries, SCHEDULED_NAMES, run);
}

function checkEntries<Entry extends ConfigEntry>(
  path: string,
  entries: unknown,
  names: OptionNames<Entry>,
  run: RunCheck,
): void {
  eachOf(path, entries, run, (place, entry) => {
    checkNames(place, entry, names, run);
    const { signer, certificates } = isObject(entry) ? entry : {};
    if (certificates !== undefined) checkNames(`${place}.certificates`, certificates, CERTIFICATES_NAMES, run);
    run(() => {
      if (signer !== undefined && typeof signer !== "string") throw missing(`${place}.signer`, "a key URI", signer);
    });
  });
}

function eachOf(path: string, list: unknown, run: RunCheck, check: (path: string, entry: unknown) => void): void {
  if (Array.isArray(list)) for (const [index, entry] of list.entries()) check(`${path}[${index}]`, entry);
  else
    run(() => {
      throw missing(path, path === "keys" ? "a list of entries, or a schedule" : "a list", list);
    });
}

const SCHEMES = Object.fromEntries(Object.keys(ADAPTERS).map((scheme) => [scheme, true as const]));

function checkAdapters(adapters: unknown, run: RunCheck): void {
  if (adapters === undefined) return;
  checkNames<Record<string, unknown>>("adapters", adapters, SCHEMES, run);
  for (const [scheme, options] of Object.entries(Object(adapters))) {
    run(() => {
      if (!isPlainObject(options)) throw missing(`adapters.${scheme}`, "an object", options);
    });
    // Each of the others has options, and checks them itself.
    if (scheme === "local" && isPlainObject(options)) checkNames("adapters.local", options, {}, run);
  }
}

/** One name after the other, so that each that is not known is found. */
function checkNames<Options extends object>(
  path: string,
  value: unknown,
  names: OptionNames<Options>,
  run: RunCheck,
): void {
  if (!isPlainObject(value)) return run(() => assertOptions(path, value, names));
  for (const member of Object.entries(value)) run(() => assertOptions(path, Object.fromEntries([member]), names));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function missing(path: string, expected: string, value: unknown): ConfigurationError {
  return new ConfigurationError(path, `expected ${expected}, got ${value === undefined ? "nothing" : given(value)}`);
}
