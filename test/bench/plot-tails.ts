import type { PairingResult } from "./measure.ts";
import { drawPlot, type PagePlot, Plot } from "@signpost/test-pages/plot-frame";
import { figure } from "./report.ts";

const ROW = /^64 callers, p99\.9, (.+)$/;

interface Bar {
  readonly label: string;
  readonly ms: number;
  readonly color: string;
}

/** The slowest call in a thousand, by policy. */
export function tailsPlot(rows: readonly PairingResult[]): PagePlot | undefined {
  const bars = rows
    .flatMap(({ name, ours }): Bar[] => {
      const policy = ROW.exec(name)?.[1]?.replace(/^no hedges, /, "");
      if (policy === undefined) return [];
      const color = policy.startsWith("hedges") ? "var(--ours)" : "var(--peer)";
      return [{ label: policy, ms: ours.ms.median, color }];
    })
    .toSorted((a, b) => b.ms - a.ms);
  if (bars.length === 0) return undefined;
  const question = "Backend of 40 ms with 1 % stragglers: how long does the slowest call in a thousand take?";
  const svg = drawPlot([question, 'milliseconds (linear axis), 64 callers, simulated time; benchmark "tails"'], {
    height: bars.length * 34 + 70,
    marginLeft: 10,
    marginRight: 46,
    x: { label: null, grid: true },
    y: { label: null, axis: null, domain: bars.map(({ label }) => label), padding: 0.1 },
    marks: [
      Plot.barX(bars, { y: "label", x: "ms", fill: "color", insetTop: 17 }),
      Plot.text(bars, { y: "label", x: 0, text: "label", textAnchor: "start", dy: -9, dx: 2 }),
      Plot.text(bars, {
        y: "label",
        x: "ms",
        text: ({ ms }: Bar) => figure(Math.round(ms)),
        textAnchor: "start",
        dx: 5,
        dy: 8,
      }),
    ],
  });
  return { name: "tails", question, svg };
}
