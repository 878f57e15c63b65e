import {
  ConfigurationError,
  createRotationSchedule,
  currentKeySet,
  type KeySetEntry,
  type RotationSchedule,
  type ScheduledEntry,
  type Signer,
} from "@signpost/core";
import { readOwnKeys } from "@signpost/core/adapter";
import type { LoadedConfig } from "../config/load-config.ts";
import { beginningLate, below, type PlannedEntry } from "./plan.ts";

/** An entry of the plan with its key. */
export interface OpenEntry {
  readonly entry: PlannedEntry;
  /** Undefined for an entry with a public key. */
  readonly signer: Signer | undefined;
  /** When it began to sign, if that was later than planned. Milliseconds since 1970. */
  readonly lateFrom: number | undefined;
}

/** The schedule of the entries that are open. A list of keys is a schedule that never changes. */
export function buildSchedule(loaded: LoadedConfig, open: readonly OpenEntry[], now: () => number): RotationSchedule {
  const { config, schedule } = loaded;
  const entries = open.map(({ entry, signer, lateFrom }): KeySetEntry => {
    const rest = beginningLate(entry.rest, lateFrom);
    return { ...rest, ...(signer === undefined ? {} : { signer }) } as KeySetEntry;
  });
  if (schedule === undefined) return unchanging(entries, config.maxTokenLifetimeSeconds, now);
  const { entries: _given, maxTokenLifetimeSeconds = config.maxTokenLifetimeSeconds, ...options } = schedule;
  try {
    return createRotationSchedule(entries as ScheduledEntry[], { ...options, maxTokenLifetimeSeconds, now });
  } catch (error) {
    throw error instanceof ConfigurationError ? below("schedule", error) : error;
  }
}

function unchanging(entries: readonly KeySetEntry[], lifetimeSeconds: number, now: () => number): RotationSchedule {
  const keySet = currentKeySet(readOwnKeys(entries).source);
  return Object.freeze({
    keySet: () => keySet,
    jwksRotationActive: () => false,
    withdrawn: () => [],
    nextChange: () => null,
    latestExpiry: () => Math.floor(now() / 1000) + lifetimeSeconds,
  });
}
