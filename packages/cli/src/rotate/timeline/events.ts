import type { Phase } from "@signpost/core/adapter";
import { isCachedShortly, type Rotation, type RotationKey } from "../inspect.ts";
import { phaseOf } from "./phase.ts";

/** What happens at one time. */
export interface RotationEvent {
  readonly time: number;
  /** In words. Safe to print. */
  readonly words: string;
}

/** What happens to a key when a phase begins. */
const BEGINNINGS: Readonly<Record<Phase, string>> = {
  unpublished: "is not published",
  announced: "is announced",
  active: "signs",
  retiring: "retires",
  withdrawn: "is withdrawn",
  dropped: "can be removed",
};

/** The keys that matter most come first. */
const ORDER: readonly Phase[] = ["active", "announced", "retiring", "withdrawn", "dropped"];

/** How long caches keep the set. */
export function cachingWords(isShort: boolean): string {
  return isShort ? "cached for 5 min" : "cached for 1 h";
}

/** Finds what happens at a time when something changes. The keys are looked at once, since a schedule may have thousands. */
export function eventFinder({ keys, shortCaching }: Rotation): (time: number) => RotationEvent {
  const beginnings = new Map<number, Beginning[]>();
  for (const key of keys) {
    for (const [time, phase] of phasesOf(key)) {
      const others = beginnings.get(time);
      if (others === undefined) beginnings.set(time, [{ key, phase }]);
      else others.push({ key, phase });
    }
  }
  const caching = new Map(
    shortCaching.flatMap(([from, until]): [number, boolean][] => [
      [from, true],
      [until, false],
    ]),
  );
  return (time) => {
    const parts = (beginnings.get(time) ?? [])
      .toSorted((a, b) => ORDER.indexOf(a.phase) - ORDER.indexOf(b.phase))
      .map(({ key, phase }) => `${key.label} ${BEGINNINGS[phase]}`);
    const isShort = caching.get(time);
    return { time, words: [...parts, ...(isShort === undefined ? [] : [cachingWords(isShort)])].join(", ") };
  };
}

interface Beginning {
  readonly key: RotationKey;
  readonly phase: Phase;
}

/** When the phases of a key begin. */
function phasesOf(key: RotationKey): ReadonlyMap<number, Phase> {
  const { announcedFrom, activeFrom, emergencyAt = announcedFrom, retiringFrom, withdrawnFrom, droppedFrom } = key;
  const times = [announcedFrom, activeFrom, emergencyAt, retiringFrom, withdrawnFrom, droppedFrom];
  return new Map(
    times
      .filter((time) => Number.isFinite(time) && phaseOf(key, time) !== phaseOf(key, time - 1))
      .map((time) => [time, phaseOf(key, time)]),
  );
}

/** The next time at which something changes. */
export function nextChange({ changes }: Rotation, time: number): number | undefined {
  return changes.find((change) => change > time);
}

/** What the keys do at a time, in words. Keys that nothing is done with are left out. */
export function stateWords(rotation: Rotation, time: number): string {
  const of = (wanted: Phase, words: string): string[] =>
    rotation.keys.filter((key) => phaseOf(key, time) === wanted).map(({ label }) => `${label} ${words}`);
  const active = of("active", "signs");
  const parts = [
    ...(active.length === 0 ? ["no key signs"] : active),
    ...of("announced", "is announced"),
    ...of("retiring", "is retiring"),
    ...of("withdrawn", "is withdrawn"),
  ];
  return [...parts, cachingWords(isCachedShortly(rotation, time))].join(", ");
}

/** A key that the schedule has nothing more to do with. */
export function isOver(key: RotationKey, time: number): boolean {
  return phaseOf(key, time) === "dropped";
}
