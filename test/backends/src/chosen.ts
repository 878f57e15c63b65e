// The long tier of tests takes lists as a whole, and each pair of two lists. The quick one takes a sample, which is the same in
// each run.

/** Whether the long tier of tests runs. */
export const isLong: boolean = process.env["SIGNPOST_TIER"] === "soak";

/** All of a list in the long tier. In the quick one `count` of them, spread evenly, with the first and the last. */
export function chosen<Item>(list: readonly Item[], count: number, isWhole: boolean = isLong): readonly Item[] {
  requireCount(count);
  if (isWhole || list.length <= count) return list;
  const step = (list.length - 1) / Math.max(1, count - 1);
  return Array.from({ length: count }, (_, at) => Math.round(at * step)).flatMap((at) => list.slice(at, at + 1));
}

/**
 * Those of `list` that are tried together with one item of another list. All of them in the long tier. In the quick one about
 * one of `every`, such that each item of both lists is in a pair.
 */
export function partners<Other, Item>(
  others: readonly Other[],
  other: Other,
  list: readonly Item[],
  every: number,
  isWhole: boolean = isLong,
): readonly Item[] {
  requireCount(every);
  const at = others.indexOf(other);
  if (at < 0) throw new RangeError("expected an item of the list");
  const step = Math.min(every, others.length, list.length);
  return isWhole ? list : list.filter((_, index) => (at + index) % step === 0);
}

function requireCount(count: number): void {
  if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`expected at least one item, got ${count}`);
}
