import { elapsedMs } from "@signpost/core/adapter";
import { excerpt } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import type { Observation, WatchedKey } from "./observe.ts";

type SetSeen = Extract<Observation, { kind: "set" }>;

/** What a watch tells. Times are milliseconds since 1970. */
export type WatchEvent =
  | { readonly event: "watching"; readonly at: number; readonly keys: readonly string[]; readonly cacheControl: string }
  | ({ readonly event: "announced"; readonly at: number; readonly key: string } & MaySign)
  | { readonly event: "may-sign"; readonly at: number; readonly key: string; readonly behindSharedCache: boolean }
  | {
      readonly event: "withdrawn";
      readonly at: number;
      readonly key: string;
      readonly trustedUntil: number | undefined;
    }
  | { readonly event: "lifetime"; readonly at: number; readonly cacheControl: string }
  | { readonly event: "older"; readonly at: number; readonly age: number; readonly inUseUntil: number | undefined }
  | ({ readonly event: "fault"; readonly at: number } & CheckFinding)
  | { readonly event: "away"; readonly at: number; readonly why: string }
  | { readonly event: "back"; readonly at: number };

/** From when on an announced key may sign. Undefined if an answer without it stated no lifetime. */
interface MaySign {
  /** If no shared cache is between the OP and its relying parties. */
  readonly direct: number | undefined;
  /** Behind a shared cache that sends no `Age`. */
  readonly shared: number | undefined;
}

interface Pending extends MaySign {
  readonly key: string;
  readonly isDirectTold: boolean;
}

/** What a watch remembers. */
export interface WatchState {
  /** The last set that was seen. */
  readonly last: SetSeen | undefined;
  readonly isAway: boolean;
  /** Whether it was told that a cache still has a copy that is older than that set. */
  readonly isOlderTold: boolean;
  /** Until when any answer up to the last one may be in use. */
  readonly inUse: MaySign;
  /** Announced keys that may not sign yet. */
  readonly pending: readonly Pending[];
  /** What each name stood for when it was last seen. A kid is remembered although its key was withdrawn. */
  readonly named: ReadonlyMap<string, NamedKeys>;
}

/** The keys of one name. */
interface NamedKeys {
  readonly isKid: boolean;
  readonly values: ReadonlySet<string>;
}

/** A stranger may publish any number. */
const MAX_NAMES = 10_000;

export const WATCH_START: WatchState = {
  last: undefined,
  isAway: false,
  isOlderTold: false,
  inUse: { direct: 0, shared: 0 },
  pending: [],
  named: new Map(),
};

interface Step {
  readonly state: WatchState;
  readonly events: readonly WatchEvent[];
}

/** Takes one look into account. */
export function observed(state: WatchState, seen: Observation, isStrict: boolean): Step {
  const { at } = seen;
  if (seen.kind === "away") {
    return { state: { ...state, isAway: true }, events: state.isAway ? [] : [{ event: "away", at, why: seen.why }] };
  }
  const back: readonly WatchEvent[] = state.isAway ? [{ event: "back", at }] : [];
  const { last } = state;
  if (last === undefined) {
    const keys = seen.keys.map(({ name }) => name);
    const started: WatchEvent = { event: "watching", at, keys, cacheControl: seen.cacheControl };
    const named = namesAfter(state.named, seen.keys);
    return { state: { ...state, last: seen, isAway: false, named }, events: [...back, started] };
  }
  if (isOlderCopy(seen, last)) {
    const { state: next, events } = olderCopy(state, seen);
    return { state: next, events: [...back, ...events] };
  }
  // The answer of the last look may have been given to others until just before this one.
  const inUse: MaySign = {
    direct: later(state.inUse.direct, endOf(at, last.direct)),
    shared: later(state.inUse.shared, endOf(at, last.shared)),
  };
  const added = missing(seen.keys, last.keys);
  const removed = missing(last.keys, seen.keys);
  const removedNames = new Set(removed.map(({ name }) => name));
  const pending = [
    ...state.pending.filter(({ key }) => !removedNames.has(key)),
    ...added.map(({ name }) => ({ key: name, ...inUse, isDirectTold: false })),
  ];
  return {
    state: {
      last: seen,
      isAway: false,
      isOlderTold: state.isOlderTold && seen.body === last.body,
      inUse,
      pending,
      named: namesAfter(state.named, seen.keys),
    },
    events: [
      ...back,
      ...added.map(({ name }): WatchEvent => ({ event: "announced", at, key: name, ...inUse })),
      ...removed.map(({ name }): WatchEvent => ({ event: "withdrawn", at, key: name, trustedUntil: inUse.shared })),
      ...(seen.cacheControl === last.cacheControl
        ? []
        : [{ event: "lifetime", at, cacheControl: seen.cacheControl } as const]),
      ...faults(state.named, last, seen, isStrict ? pending : []).map((fault): WatchEvent => ({
        event: "fault",
        at,
        ...fault,
      })),
    ],
  };
}

/** `Age` has whole seconds. */
const AGE_ROUNDING_MS = 1000;

/**
 * Whether a cache answered with a copy that is older than the last set, as a CDN does from another of its machines. Judged by `Age`
 * alone, and on the faster of our clocks, so that no change is taken for an older copy.
 */
function isOlderCopy({ age = 0, body, instant }: SetSeen, last: SetSeen): boolean {
  const sinceMs = elapsedMs(last.instant, instant) + last.tookMs + AGE_ROUNDING_MS;
  return body !== last.body && sinceMs < (age - (last.age ?? 0)) * 1000;
}

/** An older copy changes no key, but it is still given to others. */
function olderCopy(state: WatchState, { at, age = 0, keys, direct, shared }: SetSeen): Step {
  const extended = (until: MaySign): MaySign => ({
    direct: later(until.direct, endOf(at, direct)),
    shared: later(until.shared, endOf(at, shared)),
  });
  const names = new Set(keys.map(({ name }) => name));
  const pending = state.pending.map((one) =>
    names.has(one.key) ? one : { ...one, ...extended(one), isDirectTold: false },
  );
  const inUse = extended(state.inUse);
  return {
    state: { ...state, isAway: false, isOlderTold: true, inUse, pending },
    events: state.isOlderTold ? [] : [{ event: "older", at, age, inUseUntil: inUse.shared }],
  };
}

/** Lets time pass: the announced keys that may sign by now. */
export function passed(state: WatchState, now: number): Step {
  const events: WatchEvent[] = [];
  const pending = state.pending.flatMap((one): readonly Pending[] => {
    const isDirect = one.direct !== undefined && now >= one.direct;
    const isShared = one.shared !== undefined && now >= one.shared;
    if (isDirect && !isShared && !one.isDirectTold) {
      events.push({ event: "may-sign", at: now, key: one.key, behindSharedCache: false });
    }
    if (isShared) events.push({ event: "may-sign", at: now, key: one.key, behindSharedCache: true });
    return isShared ? [] : [{ ...one, isDirectTold: one.isDirectTold || isDirect }];
  });
  return { state: { ...state, pending }, events };
}

/** When time next changes something. Infinity if it never does. */
export function nextMoment({ pending }: WatchState): number {
  const moments = pending.map(({ direct, shared, isDirectTold }) => (isDirectTold ? shared : direct) ?? Infinity);
  return moments.reduce((soonest, one) => Math.min(soonest, one), Infinity);
}

function missing(keys: readonly WatchedKey[], from: readonly WatchedKey[]): readonly WatchedKey[] {
  const names = new Set(from.map(({ name }) => name));
  return keys.filter(({ name }) => !names.has(name));
}

function endOf(at: number, seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : at + seconds * 1000;
}

/** Once an answer has stated no lifetime, nothing can be said about its copies. */
function later(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : Math.max(a, b);
}

/** The names of a set, after the kids of earlier ones. */
function namesAfter(
  before: ReadonlyMap<string, NamedKeys>,
  keys: readonly WatchedKey[],
): ReadonlyMap<string, NamedKeys> {
  const now = new Map<string, { readonly isKid: boolean; readonly values: Set<string> }>();
  for (const { name, isKid, value } of keys) {
    const same = now.get(name) ?? { isKid, values: new Set() };
    same.values.add(value);
    now.set(name, same);
  }
  const earlier = [...before].filter(([name, { isKid }]) => isKid && !now.has(name));
  return new Map([...earlier, ...now].slice(-MAX_NAMES));
}

function faults(
  named: ReadonlyMap<string, NamedKeys>,
  last: SetSeen,
  seen: SetSeen,
  pending: readonly Pending[],
): readonly CheckFinding[] {
  // A kid may name several keys, all of which were there before.
  const rebound = seen.keys.filter(({ name, value }) => named.get(name)?.values.has(value) === false);
  const isTagKept = seen.etag !== undefined && !seen.etag.startsWith("W/") && seen.etag === last.etag;
  const first = seen.keys[0]?.name;
  const isFirstNew = first !== last.keys[0]?.name && pending.some(({ key }) => key === first);
  return [
    ...rebound.map(({ name }): CheckFinding => {
      const advice = "Caches keep the old key under this kid and reject its tokens. Give a new key a new kid.";
      return { severity: "must", seen: `${excerpt(name, 60)} is another key now`, advice };
    }),
    ...when(isTagKept && seen.body !== last.body, {
      severity: "must",
      seen: "the set changed and its ETag did not",
      advice: "Caches that revalidate keep the old keys. Compute the ETag from the bytes.",
    }),
    ...when(isFirstNew, {
      severity: "must",
      seen: `${excerpt(first ?? "", 60)} is the first key, before all caches can have it`,
      advice: "It signs too early. Put the old key first until then.",
    }),
  ];
}

function when(holds: boolean, finding: CheckFinding): readonly CheckFinding[] {
  return holds ? [finding] : [];
}
