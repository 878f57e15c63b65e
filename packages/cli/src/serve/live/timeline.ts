import { currentKeySet, type KeyRole, type KeySetSource, type RotationSchedule } from "@signpost/core";

/** A span of time in which nothing changes: no role of a key, and not how long caches keep the set. */
export interface Segment {
  /** Milliseconds since the epoch. Minus infinity if this is the first. */
  readonly from: number;
  /** Infinity if this is the last. */
  readonly until: number;
  /** The roles of the signing keys, published or withdrawn, in the order of the document. */
  readonly roles: ReadonlyMap<string, KeyRole>;
  readonly isCachedShortly: boolean;
}

/** Enough for any plan that people look at. A longer one shows its beginning. */
const MAX_SEGMENTS = 2000;

/** The plan of a schedule from `start` on, by asking it at each of its changes. `make` creates it with this clock. */
export async function segmentsFrom(
  start: number,
  make: (now: () => number) => Promise<KeySetSource>,
): Promise<readonly Segment[]> {
  let time = start;
  const source = await make(() => time);
  if (!isRotationSchedule(source)) return [unchanging(source)];
  const segments: Segment[] = [];
  while (segments.length < MAX_SEGMENTS) {
    const until = source.nextChange()?.getTime() ?? Number.POSITIVE_INFINITY;
    segments.push({
      from: segments.length === 0 ? Number.NEGATIVE_INFINITY : time,
      until,
      roles: rolesOf([...source.keySet().keys, ...source.withdrawn()]),
      isCachedShortly: source.jwksRotationActive(),
    });
    if (!Number.isFinite(until)) break;
    time = until;
  }
  return segments;
}

function unchanging(source: KeySetSource): Segment {
  return {
    from: Number.NEGATIVE_INFINITY,
    until: Number.POSITIVE_INFINITY,
    roles: rolesOf(currentKeySet(source).keys),
    isCachedShortly: false,
  };
}

export function isRotationSchedule(source: KeySetSource): source is RotationSchedule {
  return "nextChange" in source;
}

function rolesOf(keys: readonly { keyId: string; role: KeyRole; use: string }[]): ReadonlyMap<string, KeyRole> {
  return new Map(keys.filter(({ use }) => use === "sig").map(({ keyId, role }) => [keyId, role]));
}

/** The position of the segment of this time. */
export function segmentAt(segments: readonly Segment[], time: number): number {
  return segments.findIndex(({ until }) => time < until);
}

/** What changes between two segments that follow each other, in words. */
export function changesBetween(before: Segment, after: Segment): readonly string[] {
  const kids = new Set([...before.roles.keys(), ...after.roles.keys()]);
  const keys = [...kids].flatMap((kid) => {
    const [old, next] = [before.roles.get(kid), after.roles.get(kid)];
    return old === next ? [] : [`${kid} ${next === undefined ? GONE : (WORDS[next] ?? next)}`];
  });
  if (before.isCachedShortly === after.isCachedShortly) return keys;
  return [...keys, `caches keep the set for ${after.isCachedShortly ? "5 minutes" : "1 hour"}`];
}

const GONE = "is dropped";
const WORDS: Partial<Record<KeyRole, string>> = {
  announced: "is published",
  active: "signs",
  retiring: "stops signing",
  withdrawn: "leaves the set",
};
