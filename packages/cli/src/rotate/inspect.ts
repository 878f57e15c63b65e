import { ConfigurationError, type RotationScheduleOptions, type ScheduledEntry, type Signer } from "@signpost/core";
import { inspectSchedule, phaseAt, type InspectedKey, type InspectedSchedule } from "@signpost/core/adapter";
import { withoutCertificates } from "../config/certificate-files.ts";
import { certifiedKeyOf } from "../config/certified-key.ts";
import type { Config, ConfigSchedule } from "../config/config.ts";
import { standIn } from "../config/config-keys.ts";
import { printable } from "../terminal/printable.ts";
import { labelOf } from "./source.ts";

/** A key of a file, with its life. */
export interface RotationKey extends InspectedKey {
  /** The kid, or the URI of a key whose kid is its thumbprint. Safe to print. */
  readonly label: string;
}

/** What the schedule of a file will do. */
export interface Rotation extends Omit<InspectedSchedule, "keys"> {
  readonly keys: readonly RotationKey[];
}

/** The keys of the set that do not rotate. */
export type Trailing = Pick<Config, "encryptionKeyset" | "legacyVerificationKeys">;

export interface InspectOptions {
  /** The JSON path of the schedule in its file: `keys`, or nothing if it is the whole file. */
  readonly path: string;
  readonly now: number;
  readonly trailing?: Trailing | undefined;
  /** The signer of an entry, by its index. Default: a new key stands for each URI. */
  readonly signerOf?: (index: number) => Signer | undefined;
  /**
   * Checks the certificates too. The key that a chain is for stands for a URI, since only the opened key would tell that it is
   * another one. Default: certificates are not checked.
   */
  readonly certificates?: boolean | undefined;
}

/** What a schedule does and what is wrong with it. Opens no keys. Mistakes have JSON paths of the file. */
export function inspectRotation(schedule: ConfigSchedule, options: InspectOptions): Rotation {
  const { path, now, trailing, signerOf = () => undefined, certificates = false } = options;
  const { entries } = schedule;
  const list: readonly unknown[] = Array.isArray(entries) ? entries : [];
  const signerAt = standInForEach(certificates ? list : []);
  const signed = list.map((entry, index) => {
    const named = withSigner(entry, (uri) => signerOf(index) ?? signerAt(uri));
    return certificates ? withCertificatesOf(entry, named) : named;
  });
  const inspected = inspectSchedule(signed, { ...scheduleOptions(schedule, trailing), now: () => now });
  return {
    ...inspected,
    mistakes: inspected.mistakes.map((mistake) => below(path, mistake)),
    keys: inspected.keys.map((key) => {
      const entry = entries[key.index];
      // The thumbprint of a key that was not opened is not known.
      const label = entry?.signer === undefined || entry.keyId !== undefined ? key.keyId : labelOf(entry, path);
      return { ...key, label: printable(label) };
    }),
  };
}

/** The options of `createRotationSchedule`. Other names are for the checks of the configuration. */
export function scheduleOptions(schedule: ConfigSchedule, trailing: Trailing = {}): RotationScheduleOptions {
  const { maxTokenLifetimeSeconds, announceHours, sharedCaches } = schedule;
  const { rotationWindowHours, hintAcceptanceHours, clockSkewSeconds } = schedule;
  const { encryptionKeyset, legacyVerificationKeys } = trailing;
  return {
    maxTokenLifetimeSeconds,
    announceHours,
    sharedCaches,
    rotationWindowHours,
    hintAcceptanceHours,
    clockSkewSeconds,
    encryptionKeyset,
    legacyVerificationKeys,
  };
}

/** An entry of the file as the schedule takes it: with a signer in place of a URI, and without certificates, which are not checked. */
export function withSigner(entry: unknown, signer: (uri: unknown) => Signer): ScheduledEntry {
  if (typeof entry !== "object" || entry === null) return entry as ScheduledEntry;
  const rest: object = "certificates" in entry ? withoutCertificates(entry) : entry;
  if (!("signer" in rest) || rest.signer === undefined) return rest as ScheduledEntry;
  return { ...rest, signer: signer(rest.signer) } as unknown as ScheduledEntry;
}

/** An entry with a stand-in for its key, and with its certificates. */
export function withCertifiedKey(entry: unknown): ScheduledEntry {
  const signerAt = standInForEach([entry]);
  return withCertificatesOf(entry, withSigner(entry, signerAt));
}

function withCertificatesOf(entry: unknown, named: ScheduledEntry): ScheduledEntry {
  const { certificates }: { readonly certificates?: unknown } = Object(entry);
  return certificates === undefined ? named : ({ ...named, certificates } as unknown as ScheduledEntry);
}

/**
 * A key for each URI: the one that its certificates are for, or a new one. The same URI leads to the same key. What is no URI stands
 * for itself.
 */
function standInForEach(certified: readonly unknown[]): (uri: unknown) => Signer {
  const made = new Map<string, Signer>();
  for (const entry of certified) {
    const { signer: uri, certificates }: { readonly signer?: unknown; readonly certificates?: unknown } = Object(entry);
    const key = typeof uri === "string" && !made.has(uri) ? certifiedKeyOf(certificates) : undefined;
    if (typeof uri === "string" && key !== undefined) made.set(uri, standIn(key));
  }
  return (uri) => {
    if (typeof uri !== "string") return standIn();
    const signer = made.get(uri) ?? standIn();
    made.set(uri, signer);
    return signer;
  };
}

/** The schedule names its entries and options, which are members of `keys`. */
export function below(path: string, error: ConfigurationError): ConfigurationError {
  if (path === "" || /^(?:encryption|legacy)/.test(error.argument)) return error;
  const expected = error.message.slice(`${error.argument}: `.length);
  return new ConfigurationError(`${path}.${error.argument}`, expected, { cause: error });
}

/** The key that signs at a time. */
export function activeAt(keys: readonly RotationKey[], time: number): RotationKey | undefined {
  return keys.find((key) => phaseAt(key, time) === "active");
}

/** Whether caches are told to keep the set for a short time. */
export function isCachedShortly({ shortCaching }: Pick<Rotation, "shortCaching">, time: number): boolean {
  return shortCaching.some(([from, until]) => time >= from && time < until);
}
