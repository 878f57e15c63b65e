/** A part of the time axis, from one change to the next. All times are milliseconds. */
export interface Segment {
  /** -Infinity for what was before the first change that is shown. */
  readonly from: number;
  /** Infinity for what comes after the last one. */
  readonly until: number;
  /** A time at which everything is as in all of this part. */
  readonly sample: number;
  readonly column: number;
  readonly width: number;
}

/** The least width of a part: a date such as `Jul 15`, and a space. */
const TICK = 7;
const FIRST = 3;

/** Which changes are shown. */
export interface Shown {
  readonly changes: readonly number[];
  readonly earlier: number;
  readonly later: number;
}

/** The changes that fit on the axis: at least the last two before `at`, and as many as possible after it. */
export function fitChanges(changes: readonly number[], at: number, width: number): Shown {
  const room = Math.max(Math.floor((width - FIRST) / TICK), 1);
  const future = changes.filter((change) => change > at).length;
  const past = changes.length - future;
  const kept = Math.min(past, Math.max(room - future, Math.min(2, room - 1)));
  const shown = changes.slice(past - kept, past - kept + room);
  return { changes: shown, earlier: past - kept, later: changes.length - (past - kept) - shown.length };
}

/**
 * The parts of the axis. Their widths follow the logarithm of the time, because a rotation has parts of an hour and parts of a
 * year, and all of them matter.
 */
export function createScale(changes: readonly number[], width: number): readonly Segment[] {
  const starts = [-Infinity, ...changes];
  const inner = changes.slice(1).map((change, index) => Math.log2(2 + (change - (changes[index] ?? change)) / 60_000));
  const spare = Math.max(width - FIRST - TICK * changes.length, 0);
  const total = inner.reduce((sum, weight) => sum + weight, 0);
  const widths = [FIRST, ...inner.map((weight) => TICK + Math.floor((spare * weight) / (total + LAST_WEIGHT)))];
  const used = widths.reduce((sum, each) => sum + each, 0);
  const all = changes.length === 0 ? [width] : [...widths, Math.max(width - used, 1)];
  let column = 0;
  return all.map((segmentWidth, index) => {
    const [from = -Infinity, until = Infinity] = [starts[index], starts[index + 1]];
    const segment = { from, until, sample: Number.isFinite(from) ? from : until - 1, column, width: segmentWidth };
    column += segmentWidth;
    return segment;
  });
}

/** What comes after the last change is as wide as an hour. */
const LAST_WEIGHT = 6;

/** The column of a time. In a part without a beginning or an end it is the middle. */
export function columnOf(segments: readonly Segment[], time: number): number {
  const segment = segments.find(({ from, until }) => time >= from && time < until) ?? segments.at(-1);
  if (segment === undefined) return 0;
  const { from, until, column, width } = segment;
  const share = Number.isFinite(from) && Number.isFinite(until) ? (time - from) / (until - from) : 0.5;
  return column + Math.min(Math.floor(share * width), width - 1);
}
