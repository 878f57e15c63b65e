import type { KeyRole } from "@signpost/core";
import { changesBetween, segmentAt, type Segment } from "../live/timeline.ts";
import { html, NOTHING, type Html } from "./html.ts";
import { timeWithDistance } from "./times.ts";

/** The segments that a picture shows. */
export interface View {
  readonly segments: readonly Segment[];
  /** The position of the segment of now among them. */
  readonly current: number;
}

/** One change back, since it explains what is there now, and a few ahead. */
const BEFORE = 1;
const AFTER = 5;

export function viewAt(all: readonly Segment[], now: Date): View {
  const index = Math.max(segmentAt(all, now.getTime()), 0);
  const first = Math.max(index - BEFORE, 0);
  return { segments: all.slice(first, index + AFTER + 1), current: index - first };
}

const TOP = 40;
const NOW_Y = 12;
const NUMBER_Y = 28;
const ROW = 38;
const LABEL = 13;
const BAR = 16;
const MAX_LABEL = 34;

/**
 * The plan as a picture: a column for each span of time, all of the same width, so that a short one can be seen too. Coordinates are
 * percentages, so that text keeps its size on a narrow screen.
 */
export function planPicture({ segments, current }: View, now: Date): Html {
  const kids = [...new Set(segments.flatMap(({ roles }) => [...roles.keys()]))];
  const height = TOP + (kids.length + 1) * ROW + 4;
  const column = 100 / segments.length;
  const label = "Bars show the role of each key over time. The list below has the same in words.";
  return html`<svg class="plan" width="100%" height="${height}" role="img" aria-label="${label}">
    <defs>
      <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="3" height="6" class="hatch" />
      </pattern>
    </defs>
    ${segments.slice(1).map((_, index) => boundary(index + 1, column, height))}
    ${kids.map((kid, row) => keyRow(kid, TOP + row * ROW, segments, column))}
    ${cacheRow(TOP + kids.length * ROW, segments, column)} ${nowLine(segments[current], current, column, height, now)}
  </svg>`;
}

function boundary(number: number, column: number, height: number): Html {
  const x = percent(number * column);
  return html`<line class="boundary" x1="${x}" x2="${x}" y1="${NUMBER_Y + 5}" y2="${height}" />
    <text class="number" x="${x}" y="${NUMBER_Y}" text-anchor="middle">${number}</text>`;
}

function keyRow(kid: string, top: number, segments: readonly Segment[], column: number): Html {
  const bars = runs(segments.map(({ roles }) => roles.get(kid))).map(({ value: role, from, length }) =>
    role === undefined ? NOTHING : bar(role, `${kid}: ${role}`, top + LABEL + 5, from * column, length * column),
  );
  const shown = [...kid].length > MAX_LABEL ? `${[...kid].slice(0, MAX_LABEL).join("")}…` : kid;
  return html`<text class="label" x="0" y="${top + LABEL}">${shown}</text>${bars}`;
}

function cacheRow(top: number, segments: readonly Segment[], column: number): Html {
  const bars = runs(segments.map(({ isCachedShortly }) => isCachedShortly)).map(({ value: isShort, from, length }) =>
    isShort
      ? bar("short", "caches keep the set for 5 minutes", top + LABEL + 5, from * column, length * column)
      : NOTHING,
  );
  return html`<text class="label soft" x="0" y="${top + LABEL}">caches keep it for 5 minutes</text>${bars}`;
}

/** Each role has its own shape, so that the picture needs no color. */
const SHAPES: Readonly<Record<string, { readonly offset: number; readonly height: number }>> = {
  active: { offset: 0, height: BAR },
  announced: { offset: 0, height: BAR },
  retiring: { offset: 4, height: 8 },
  withdrawn: { offset: 7, height: 2 },
  short: { offset: 5, height: 6 },
};

function bar(kind: KeyRole | "short", title: string, top: number, x: number, width: number): Html {
  const { offset, height } = SHAPES[kind] ?? { offset: 0, height: BAR };
  const place = html`x="${percent(x)}" width="${percent(width)}" y="${top + offset}" height="${height}"`;
  return html`<rect class="bar ${kind}" ${place}><title>${title}</title></rect>`;
}

function nowLine(segment: Segment | undefined, current: number, column: number, height: number, now: Date): Html {
  if (segment === undefined) return NOTHING;
  const { from, until } = segment;
  const isBounded = Number.isFinite(from) && Number.isFinite(until);
  const part = isBounded ? (now.getTime() - from) / (until - from) : 0.5;
  const x = percent((current + Math.min(Math.max(part, 0), 1)) * column);
  return html`<line class="now" x1="${x}" x2="${x}" y1="${NOW_Y + 4}" y2="${height}" />
    <text class="now-label" x="${x}" y="${NOW_Y}" text-anchor="middle">now</text>`;
}

/** Neighbors with the same value as one. */
function runs<T>(
  values: readonly T[],
): readonly { readonly value: T; readonly from: number; readonly length: number }[] {
  const starts = values.flatMap((value, index) => (index === 0 || value !== values[index - 1] ? [index] : []));
  return starts.map((from, index) => ({
    value: values[from] as T,
    from,
    length: (starts[index + 1] ?? values.length) - from,
  }));
}

function percent(value: number): string {
  return `${Number(value.toFixed(2))}%`;
}

/** What the numbers in the picture mean. */
export function planList({ segments }: View, now: Date): Html {
  const items = segments.slice(1).map((segment, index) => {
    const before = segments[index];
    const changes = before === undefined ? [] : changesBetween(before, segment);
    return html`<li>${timeWithDistance(new Date(segment.from), now)}<br />${changes.join(", ")}</li>`;
  });
  return items.length === 0
    ? html`<p>No change is planned.</p>`
    : html`<ol class="changes">
        ${items}
      </ol>`;
}
