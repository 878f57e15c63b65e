import { createECDH } from "node:crypto";
import { ConfigurationError, ecPointToJwk, type KeySetEntry, type ScheduledEntry, type Signer } from "@signpost/core";
import { createSigner, inspectSchedule, phaseAt, readOwnKeys } from "@signpost/core/adapter";
import type { LoadedConfig } from "../config/load-config.ts";

/** Whether a key must be open before anything is served, can be opened later, or is not published any longer. */
type Need = "now" | "later" | "never";

/** When keys began to sign that could not be opened in time, by URI. Milliseconds since 1970. */
export type LateKeys = ReadonlyMap<string, number>;

/** An entry of the configuration. */
export interface PlannedEntry {
  /** Its JSON path. */
  readonly place: string;
  /** Undefined for an entry with a public key. */
  readonly uri: string | undefined;
  readonly need: Need;
  /** All members but the URI, as core has them. */
  readonly rest: object;
  /** When it signs, in milliseconds since 1970. 0 without a schedule. */
  readonly activeFrom: number;
}

/**
 * Which keys a configuration needs at a time. A key that may have signed tokens must be open, or kube-apiserver would refuse those
 * tokens. A key of the future is opened when it can be. Opens nothing: a new key stands for each that has a URI.
 *
 * @throws ConfigurationError for entries that core refuses.
 */
export function planKeys({ config, schedule }: LoadedConfig, time: number, late: LateKeys): readonly PlannedEntry[] {
  if (schedule === undefined) {
    const entries = (config.keys ?? []).map(({ uri, ...rest }, index) => ({
      place: `keys[${index}]`,
      uri,
      need: "now" as const,
      rest,
      activeFrom: 0,
    }));
    readOwnKeys(entries.map(standingIn));
    return entries;
  }
  const entries = schedule.entries.map(({ signer, ...rest }, index) => ({
    place: `schedule.entries[${index}]`,
    uri: signer,
    rest: beginningLate(rest, signer === undefined ? undefined : late.get(signer)),
  }));
  const { entries: _given, maxTokenLifetimeSeconds = config.maxTokenLifetimeSeconds, ...options } = schedule;
  const inspected = inspectSchedule(entries.map(standingIn) as ScheduledEntry[], {
    ...options,
    maxTokenLifetimeSeconds,
    now: () => time,
  });
  const [mistake] = inspected.mistakes;
  if (mistake !== undefined) throw below("schedule", mistake);
  return inspected.keys.flatMap((key) => {
    const entry = entries[key.index];
    if (entry === undefined) return [];
    const phase = phaseAt(key, time);
    const need = NEEDS[phase];
    return [{ ...entry, need, activeFrom: key.activeFrom }];
  });
}

/**
 * An entry that begins to sign when its key was there. Until then the key before it signed, and must stay published as long. A date
 * that is later still counts: it was changed since.
 */
export function beginningLate<Entry extends object>(entry: Entry, lateFrom: number | undefined): Entry {
  if (lateFrom === undefined || !(Date.parse(String(Reflect.get(entry, "activeFrom"))) < lateFrom)) return entry;
  return { ...entry, activeFrom: new Date(lateFrom).toISOString() };
}

const NEEDS = {
  unpublished: "later",
  announced: "later",
  active: "now",
  retiring: "now",
  withdrawn: "never",
  dropped: "never",
} as const satisfies Record<ReturnType<typeof phaseAt>, Need>;

function standingIn({ uri, rest }: { readonly uri: string | undefined; readonly rest: object }): KeySetEntry {
  return (uri === undefined ? rest : { ...rest, signer: standIn() }) as KeySetEntry;
}

/** A signer that has a public key and signs nothing. */
function standIn(): Signer {
  return createSigner({
    uri: "local:",
    // Without a key object: Node 20 may stand still for good while it exports one that it generated.
    publicKey: ecPointToJwk(createECDH("prime256v1").generateKeys()),
    signDigest: () => Promise.reject(new TypeError("this key signs nothing")),
    close: () => Promise.resolve(),
  });
}

/** Core calls the entries and options of a schedule by their own names. */
export function below(place: string, error: ConfigurationError): ConfigurationError {
  const expected = error.message.slice(`${error.argument}: `.length);
  return new ConfigurationError(`${place}.${error.argument}`, expected, { cause: error });
}
