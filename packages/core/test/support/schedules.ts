import {
  createRotationSchedule,
  type RotationSchedule,
  type RotationScheduleOptions,
  type ScheduledEntry,
  type Signer,
} from "@signpost/core";
import { scriptedSigner } from "./scripted-signer.ts";

export const HOUR = 3_600_000;
/** The moment from which the tests count hours. */
export const EPOCH: number = Date.parse("2026-01-01T00:00:00Z");

export const atHour = (hours: number): Date => new Date(EPOCH + hours * HOUR);

/** A clock that tests set in hours. */
export function clock(hours: number): { now: () => number; set: (hours: number) => void } {
  let time = EPOCH + hours * HOUR;
  return {
    now: () => time,
    set: (next) => {
      time = EPOCH + next * HOUR;
    },
  };
}

export function someSigner(): Signer {
  return scriptedSigner().signer;
}

/** An entry whose members are getters of a class. */
export class ClassEntry {
  readonly #entry: ScheduledEntry;
  constructor(entry: ScheduledEntry) {
    this.#entry = entry;
  }
  get keyId() {
    return this.#entry.keyId;
  }
  get signer() {
    if ("signer" in this.#entry) return this.#entry.signer;
    throw new Error("expected an entry with a signer");
  }
  get certificates() {
    return this.#entry.certificates;
  }
  get announcedFrom() {
    return this.#entry.announcedFrom;
  }
  get activeFrom() {
    return this.#entry.activeFrom;
  }
}

/** The schedule of a plan: its entries, and everything else as options. */
export function scheduleOf(
  { entries, ...options }: RotationScheduleOptions & { readonly entries: readonly ScheduledEntry[] },
  now: () => number,
): RotationSchedule {
  return createRotationSchedule(entries, { ...options, now });
}

/** Tokens of one hour, hints for long, clocks that agree. */
export const EMERGENCY_LENGTHS = {
  maxTokenLifetimeSeconds: 3600,
  hintAcceptanceHours: 1000,
  clockSkewSeconds: 0,
} as const;

/** What a schedule that is made at that hour answers. */
export function answersAt(
  entries: readonly ScheduledEntry[],
  hours: number,
): { published: string[]; withdrawn: string[]; rotation: boolean } {
  const schedule = createRotationSchedule(entries, { ...EMERGENCY_LENGTHS, now: clock(hours).now });
  return {
    published: schedule.keySet().keys.map((key) => `${key.keyId} ${key.role}`),
    withdrawn: schedule.withdrawn().map((key) => key.keyId),
    rotation: schedule.jwksRotationActive(),
  };
}
