// The plots of docs/reliability.md, as SVG.
import { drawPlot, HALO, type PagePlot, Plot } from "@signpost/test-pages/plot-frame";
import { ALL_KINDS, type Kind } from "./kinds.ts";
import type { KeptResult } from "./report.ts";
import { nameOf, ofKind, seconds } from "./words.ts";

const SERVICE = "var(--ours)";
const HSM = "var(--peer)";

/** The longest recovery of a backend from a kind of fault. */
export interface Recovery {
  readonly kind: Kind;
  readonly backend: string;
  readonly ms: number;
  readonly boundMs: number;
}

/** Every plot whose results are there. */
export function plotsOf(results: readonly KeptResult[]): readonly PagePlot[] {
  const recoveries = recoveriesOf(results);
  return recoveries.length === 0 ? [] : [recoveryPlot(recoveries)];
}

/** By kind and backend. Where every call was signed there was nothing to recover from. */
export function recoveriesOf(results: readonly KeptResult[]): readonly Recovery[] {
  return ALL_KINDS.flatMap((kind) =>
    results.flatMap((result): Recovery[] => {
      const hit = ofKind(result, kind);
      const [slowest] = hit.toSorted((a, b) => b.recoveryMs - a.recoveryMs);
      if (slowest === undefined || hit.every(({ calls, signed }) => calls === signed)) return [];
      return [{ kind, backend: result.backend, ms: slowest.recoveryMs, boundMs: slowest.boundMs }];
    }),
  );
}

/** A row for each kind, with a dot for each backend and a mark where its bound is. */
function recoveryPlot(recoveries: readonly Recovery[]): PagePlot {
  const kinds = [...new Set(recoveries.map(({ kind }) => kind))];
  const worst = kinds.map((kind) => slowestOf(recoveries, kind));
  const color = ({ backend }: Recovery): string => (backend.startsWith("pkcs11") ? HSM : SERVICE);
  const longestBoundMs = Math.max(...recoveries.map(({ boundMs }) => boundMs));
  const question = "How long after a fault does signing work again?";
  const svg = drawPlot(
    [
      question,
      "Logarithmic axis. A dot for each backend, the slowest one in words.",
      { text: "blue: services and the local key", color: SERVICE },
      { text: "gray: PKCS#11 modules", color: HSM },
      "vertical marks: by when it must work, in the same colors",
    ],
    {
      height: kinds.length * 42 + 50,
      marginLeft: 10,
      marginRight: 14,
      x: {
        type: "log",
        label: null,
        domain: [0.01, (longestBoundMs / 1000) * 1.1],
        ticks: [0.01, 0.1, 1, 10],
        tickFormat: (value: number) => `${value} s`,
        grid: true,
        inset: 6,
      },
      y: { label: null, axis: null, domain: kinds },
      marks: [
        Plot.tickX(recoveries, { y: "kind", x: bound, stroke: color, strokeWidth: 3, insetTop: 22, insetBottom: 3 }),
        Plot.dot(recoveries, { y: "kind", x: recovery, fill: color, fillOpacity: 0.75, r: 4.5, dy: 9 }),
        Plot.text(worst, { y: "kind", text: "kind", frameAnchor: "left", textAnchor: "start", dx: 2, dy: -9, ...HALO }),
        Plot.text(worst, { y: "kind", text: inWords, frameAnchor: "right", textAnchor: "end", dy: -9, ...HALO }),
      ],
    },
  );
  return { name: "recovery", question, svg };
}

function slowestOf(recoveries: readonly Recovery[], kind: Kind): Recovery {
  const ofThis = recoveries.filter((row) => row.kind === kind);
  return ofThis.reduce((slowest, row) => (row.ms > slowest.ms ? row : slowest));
}

const recovery = ({ ms }: Recovery): number => Math.max(ms, 10) / 1000;
const bound = ({ boundMs }: Recovery): number => boundMs / 1000;
const inWords = ({ ms, backend }: Recovery): string => `${seconds(ms)}, ${nameOf(backend)}`;
