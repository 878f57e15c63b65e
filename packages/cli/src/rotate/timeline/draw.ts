import type { Colors } from "../../terminal/colors.ts";
import type { Phase } from "@signpost/core/adapter";
import { isCachedShortly, type Rotation, type RotationKey } from "../inspect.ts";
import { instantText } from "./instants.ts";
import { phaseOf } from "./phase.ts";
import { columnOf, createScale, fitChanges, type Segment, type Shown } from "./scale.ts";

export interface Picture {
  readonly lines: readonly string[];
  /** What the bars mean. */
  readonly legend: string;
  readonly shown: Shown;
}

interface Canvas {
  readonly width: number;
  readonly colors: Colors;
}

const MAX_LABEL = 24;
const GAP = 2;
const CACHE_LABEL = "cached for";
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

interface Bar {
  readonly fill: string;
  readonly color: (colors: Colors) => (text: string) => string;
}

const BLANK: Bar = { fill: " ", color: () => (text) => text };

/** How a phase is drawn. The bars are told apart without color too. */
const BARS: Readonly<Record<Phase, Bar>> = {
  unpublished: BLANK,
  announced: { fill: "░", color: ({ cyan }) => cyan },
  active: { fill: "█", color: ({ green }) => green },
  retiring: { fill: "▒", color: ({ yellow }) => yellow },
  withdrawn: { fill: "·", color: ({ dim }) => dim },
  dropped: BLANK,
};

/** The lives of the keys as bars over a time axis. No line is wider than `width`. */
export function drawRotation(rotation: Rotation, at: number, { width, colors }: Canvas): Picture {
  const alive = rotation.keys.filter((key) => key.droppedFrom > at);
  const labelWidth = Math.min(Math.max(CACHE_LABEL.length, ...alive.map(({ label }) => label.length)), MAX_LABEL);
  const room = Math.max(width - labelWidth - GAP, 1);
  // What happened only to keys that are gone is no longer of interest.
  const first = Math.min(...alive.map(({ announcedFrom }) => announcedFrom));
  const shown = fitChanges(
    rotation.changes.filter((change) => change >= first),
    at,
    room,
  );
  const segments = createScale(shown.changes, room);
  const line = (label: string, content: string): string =>
    `${shorten(label, labelWidth).padEnd(labelWidth + GAP)}${content}`.trimEnd();
  const keys = alive.filter((key) => segments.some(({ sample }) => isDrawn(phaseOf(key, sample))));
  return {
    shown,
    lines: [
      ...axis(segments).map((ticks) => line("", colors.dim(ticks))),
      ...keys.map((key) => line(key.label, bar(key, segments, shown.later > 0, colors))),
      line(CACHE_LABEL, caching(rotation, segments, colors)),
      line("", colors.bold(marker(columnOf(segments, at), at, room))),
    ],
    legend: line("", legend(colors)),
  };
}

function isDrawn(phase: Phase): boolean {
  return phase !== "unpublished" && phase !== "dropped";
}

function shorten(label: string, width: number): string {
  return label.length <= width ? label : `${label.slice(0, width - 1)}…`;
}

/** Three lines: years where they change, days, and hours. */
function axis(segments: readonly Segment[]): readonly string[] {
  let years = "";
  let days = "";
  let hours = "";
  let year: number | undefined;
  for (const { from, column } of segments) {
    if (!Number.isFinite(from)) continue;
    const date = new Date(from);
    if (date.getUTCFullYear() !== year) years = years.padEnd(column) + String(date.getUTCFullYear());
    year = date.getUTCFullYear();
    days = days.padEnd(column) + `${MONTHS[date.getUTCMonth()]} ${date.getUTCDate()}`;
    hours = hours.padEnd(column) + date.toISOString().slice(11, 16);
  }
  return [years, days, hours].filter((text) => text !== "");
}

function bar(key: RotationKey, segments: readonly Segment[], isCut: boolean, colors: Colors): string {
  const parts = segments.map(({ sample, width }, index) => {
    const phase = phaseOf(key, sample);
    const { fill, color } = BARS[phase];
    const isLast = index === segments.length - 1;
    const end = isLast && phase === "active" ? (isCut ? "…" : "▶") : fill;
    return color(colors)(`${fill.repeat(width - 1)}${end}`);
  });
  return parts.join("");
}

/** How long caches are told to keep the set, with the time written where it fits. */
function caching(rotation: Rotation, segments: readonly Segment[], colors: Colors): string {
  const runs: { isShort: boolean; width: number }[] = [];
  for (const { sample, width } of segments) {
    const isShort = isCachedShortly(rotation, sample);
    const last = runs.at(-1);
    if (last?.isShort === isShort) last.width += width;
    else runs.push({ isShort, width });
  }
  return runs
    .map(({ isShort, width }) => {
      const words = isShort ? "5 min " : "1 h ";
      const fill = isShort ? "━" : "─";
      const text = width > words.length ? words.padEnd(width, fill) : fill.repeat(width);
      return (isShort ? colors.yellow : colors.dim)(text);
    })
    .join("");
}

function marker(column: number, at: number, room: number): string {
  const words = instantText(at);
  const after = column + 2 + words.length <= room;
  return after ? `${" ".repeat(column)}▲ ${words}` : `${" ".repeat(Math.max(column - words.length - 1, 0))}${words} ▲`;
}

function legend(colors: Colors): string {
  const phases = ["announced", "active", "retiring", "withdrawn"] as const;
  return phases.map((phase) => `${BARS[phase].color(colors)(BARS[phase].fill)} ${phase}`).join("  ");
}
