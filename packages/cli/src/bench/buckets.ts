import type { Bucket, Tally } from "./tally.ts";

/** Rows of a histogram: each begins at a time, and the last one may have no end. */
export interface Rows {
  /** Milliseconds. Each begins at a fixed factor after the one before. */
  readonly starts: readonly number[];
  /** Whether the last row has everything after its start too. */
  readonly isLastOpen: boolean;
  /** How many calls of each side are in each row. */
  readonly counts: readonly (readonly number[])[];
}

const MAX_ROWS = 12;
/** The widest row is twice as wide as its start is late, again and again. */
const OCTAVE = 16;
/** Calls that are slower have one row together, so that a few of them do not squeeze all others into another. */
const MAIN_SHARE = 99;

/** The times of all sides in logarithmic rows, as fine as their number allows. Undefined without a signature. */
export function rowsOf(tallies: readonly Tally[]): Rows | undefined {
  const all = tallies.map(({ buckets }) => buckets);
  // A side may have none.
  const known = all.filter((buckets) => buckets.length > 0);
  const first = Math.min(...known.map(([bucket]) => indexOf(bucket)));
  const last = Math.max(...known.map((buckets) => indexOf(buckets.at(-1))));
  if (!Number.isFinite(first) || !Number.isFinite(last)) return undefined;
  const main = Math.min(last, Math.max(...tallies.map(mainEnd)));
  const width = widthFor(main - first + 1);
  const start = Math.floor(first / width);
  const ends = Math.floor(main / width);
  const isLastOpen = Math.floor(last / width) > ends;
  const rows = Array.from({ length: ends - start + (isLastOpen ? 2 : 1) }, (_, row) => start + row);
  const counts = all.map((buckets) => {
    const row = (bucket: Bucket): number => Math.min(Math.floor(indexOf(bucket) / width), start + rows.length - 1);
    return rows.map((index) =>
      buckets.filter((bucket) => row(bucket) === index).reduce((sum, { count }) => sum + count, 0),
    );
  });
  return { starts: rows.map((row) => msAt(row * width)), isLastOpen, counts };
}

/** The smallest width, in steps of a tally, with which so many steps fit. */
function widthFor(steps: number): number {
  const widths = [1, 2, 4, 8, OCTAVE, 2 * OCTAVE, 4 * OCTAVE];
  return widths.find((width) => Math.ceil(steps / width) < MAX_ROWS) ?? 8 * OCTAVE;
}

const NS_PER_MS = 1_000_000;

function indexOf(bucket: Bucket | undefined): number {
  return bucket === undefined ? Number.NaN : Math.round(Math.log2(bucket.fromMs * NS_PER_MS) * OCTAVE);
}

function msAt(index: number): number {
  return 2 ** (index / OCTAVE) / NS_PER_MS;
}

/** Where the slowest percent begins. */
function mainEnd(tally: Tally): number {
  const end = tally.percentile(MAIN_SHARE) ?? tally.max;
  return end === null ? 0 : Math.floor(Math.log2(end * NS_PER_MS) * OCTAVE);
}
