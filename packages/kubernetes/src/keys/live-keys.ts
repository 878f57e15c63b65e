import { ConfigurationError, type GuardedSigner, type RotationSchedule, SignpostError } from "@signpost/core";
import type { LoadedConfig } from "../config/load-config.ts";
import { buildSchedule, type OpenEntry } from "./build-schedule.ts";
import { createCurrentKeys } from "./current-keys.ts";
import { createKeyRing, type OpenKey } from "./key-ring.ts";
import { type LateKeys, type PlannedEntry, planKeys } from "./plan.ts";

/** What becomes of keys that do not sign. */
export interface KeyEvents {
  /** It is open, and published. */
  onOpened(place: string): void;
  /** It cannot be opened yet. Called once for each code in a row. */
  onUnopened(place: string, error: unknown): void;
  /** A key that is no longer used could not be closed. */
  onUnclosed(error: unknown): void;
}

export interface LiveKeysOptions {
  readonly open: OpenKey;
  readonly events: KeyEvents;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** The keys of a configuration that can be loaded again. */
export interface LiveKeys {
  readonly schedule: RotationSchedule;
  /** Opens what a configuration needs now, and takes its keys into use if `check` does not throw. If this throws, nothing has changed. */
  load(loaded: LoadedConfig, check: () => void): Promise<void>;
  /** How many keys of the future are not open. */
  unopened(): number;
  /** Does some work with keys that stay open until it is done. */
  during<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Closes all keys. */
  close(): Promise<void>;
}

interface Generation {
  readonly loaded: LoadedConfig;
  readonly plan: readonly PlannedEntry[];
  /** Those that are not part of the schedule yet. Their key may be open: for another configuration, which was refused. */
  readonly waiting: Set<PlannedEntry>;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

export function createLiveKeys({ open, events, now, signal }: LiveKeysOptions): LiveKeys {
  const ring = createKeyRing(open, signal);
  const current = createCurrentKeys();
  const inProgress = new Set<Promise<unknown>>();
  let generation: Generation | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lateFrom: LateKeys = new Map();
  let codes = new Map<string, string>();
  /** Open, and the schedule cannot take them. */
  let refused = new Set<PlannedEntry>();
  let loads = 0;

  const find = ({ uri }: PlannedEntry, { config }: LoadedConfig): GuardedSigner | undefined =>
    uri === undefined ? undefined : ring.find(uri, config.adapters ?? {});
  const isOpen = (entry: PlannedEntry, loaded: LoadedConfig): boolean =>
    entry.uri === undefined || find(entry, loaded) !== undefined;

  const isUsed = (entry: PlannedEntry, { loaded, waiting }: Generation): boolean =>
    entry.need !== "never" && isOpen(entry, loaded) && !waiting.has(entry) && !refused.has(entry);

  const scheduleOf = (of: Generation): RotationSchedule => {
    const { loaded, plan } = of;
    const entries = plan
      .filter((entry) => isUsed(entry, of))
      .map((entry): OpenEntry => ({
        entry,
        signer: find(entry, loaded),
        lateFrom: lateFrom.get(entry.uri ?? entry.place),
      }));
    return buildSchedule(loaded, entries, now);
  };

  /**
   * A key that is open after it should have begun to sign begins now: until now another key has signed, and must stay as long. If
   * a later key signs already, it takes its place just before that one.
   */
  const beginsLate = (entry: PlannedEntry, of: Generation): LateKeys => {
    const time = now();
    if (entry.uri === undefined || entry.activeFrom >= time) return new Map();
    const begun = of.plan
      .filter((other) => other !== entry && isUsed(other, of))
      .map(({ uri, activeFrom }) => Math.max(activeFrom, (uri === undefined ? undefined : lateFrom.get(uri)) ?? 0))
      .filter((from) => from > entry.activeFrom && from <= time);
    return new Map([[entry.uri, Math.min(time, ...begun.map((from) => from - 1))]]);
  };

  /** The same for each key that is due and waits, because a configuration that is loaded opens it. */
  const allBeginLate = (of: Generation | undefined): LateKeys =>
    of === undefined ? new Map() : new Map([...of.waiting].flatMap((entry) => [...beginsLate(entry, of)]));

  const publish = (entry: PlannedEntry, to: Generation): void => {
    try {
      current.replace(scheduleOf(to));
    } catch (error) {
      refused.add(entry);
      throw error;
    }
  };

  const openLater = async (failures: number): Promise<void> => {
    const before = generation;
    if (before === undefined || signal.aborted) return;
    for (const entry of before.waiting) {
      try {
        await ring.open(entry.uri ?? "", before.loaded.config.adapters ?? {});
        if (generation !== before) return void closeUnused();
        lateFrom = new Map([...lateFrom, ...beginsLate(entry, before)]);
        before.waiting.delete(entry);
        publish(entry, before);
        codes.delete(entry.place);
        events.onOpened(entry.place);
      } catch (error) {
        if (signal.aborted || generation !== before) return;
        const code = error instanceof SignpostError ? error.code : "internal";
        if (codes.get(entry.place) !== code) events.onUnopened(entry.place, error);
        codes.set(entry.place, code);
      }
    }
    if (before.waiting.size === 0) return;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
    timer = setTimeout(() => void openLater(failures + 1), pauseMs);
  };

  const during = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = work();
    inProgress.add(result);
    try {
      return await result;
    } finally {
      inProgress.delete(result);
    }
  };

  /** Not while keys are opened for a configuration that is not in use yet. It is called when that is done. */
  const closeUnused = async (): Promise<void> => {
    await Promise.allSettled(inProgress);
    if (loads > 0) return;
    const kept = generation;
    const used = kept?.plan.map((entry) => find(entry, kept.loaded)) ?? [];
    const errors = await ring.keepOnly(new Set(used.filter((key) => key !== undefined)));
    for (const error of errors) events.onUnclosed(error);
  };

  const load = async (loaded: LoadedConfig, check: () => void): Promise<void> => {
    const late = allBeginLate(generation);
    const plan = planKeys(loaded, now(), new Map([...lateFrom, ...late]));
    for (const { place, uri, need } of plan) {
      // One after the other, so that a wrong PIN is not tried twice.
      if (need === "now" && uri !== undefined) await ring.open(uri, loaded.config.adapters ?? {}).catch(at(place));
    }
    const waiting = new Set(plan.filter((entry) => entry.need === "later" && !isOpen(entry, loaded)));
    const next = { loaded, plan, waiting };
    const before = { refused, lateFrom };
    refused = new Set();
    // Those that were opened meanwhile began later than this.
    lateFrom = new Map([...late, ...lateFrom]);
    try {
      current.replace(scheduleOf(next), check);
    } catch (error) {
      ({ refused, lateFrom } = before);
      throw error;
    }
    generation = next;
    clearTimeout(timer);
    codes = new Map();
    void openLater(0);
  };

  return {
    schedule: current.schedule,
    async load(loaded, check) {
      loads += 1;
      try {
        await load(loaded, check);
      } finally {
        loads -= 1;
        void closeUnused();
      }
    },
    unopened: () => (generation === undefined ? 0 : generation.waiting.size + refused.size),
    during,
    async close() {
      clearTimeout(timer);
      generation = undefined;
      await closeUnused();
    },
  };
}

/** Says in a configuration error where in the configuration the key is. Other errors name their key. */
function at(place: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(place, error.message, { cause: error, code: error.code });
  };
}
