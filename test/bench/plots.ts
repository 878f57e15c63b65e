// The plots of docs/performance.md, one for each question, as SVG. Each reads its rows from the reports by their names.
import { drawPlot, HALO, type Mark, type PagePlot, Plot } from "@signpost/test-pages/plot-frame";
import type { PairingResult } from "./measure.ts";
import { tailsPlot } from "./plot-tails.ts";
import { type BenchReport, figure } from "./report.ts";
import type { Estimate } from "./statistics.ts";

const OURS = "var(--ours)";
const PEER = "var(--peer)";
/** A label with more has two lines. */
const LABEL_CHARACTERS = 60;

/** Every plot whose reports are there. */
export function plotsOf(reports: readonly BenchReport[]): readonly PagePlot[] {
  const rowsOf = (name: string): readonly PairingResult[] =>
    reports.find((report) => report.name === name)?.results ?? [];
  return [
    addedPlot(
      rowsOf("aws-kms"),
      rowsOf("gcp-kms"),
      rowsOf("azure-key-vault"),
      rowsOf("vault-transit"),
      rowsOf("sign-jwt"),
    ),
    ratePlot(
      rowsOf("aws-kms"),
      rowsOf("gcp-kms"),
      rowsOf("azure-key-vault"),
      rowsOf("vault-transit"),
      rowsOf("pkcs11-sessions"),
    ),
    startPlot([...rowsOf("start"), ...rowsOf("aws-kms-https")]),
    tailsPlot(rowsOf("tails")),
    ratioPlot(
      "local",
      "Local key: how long does a token take, compared with JWT libraries?",
      "token",
      against(rowsOf("token")),
    ),
    ratioPlot(
      "verify",
      "RP: how long does a verification take, compared with RP libraries?",
      "verify",
      rowsOf("verify"),
    ),
    ratioPlot("endpoint", "JWKS endpoint: how long does a request take?", "endpoint", against(rowsOf("endpoint"))),
  ].filter((plot) => plot !== undefined);
}

interface Interval {
  readonly group: string;
  readonly label: string;
  readonly at: Estimate;
}

const TOKEN = /^(?:service|signer) of (\d+) ms, (?:token|each verified)$/;

function addedPlot(...[aws, google, azure, vault, core]: readonly (readonly PairingResult[])[]): PagePlot | undefined {
  const group = (name: string, rows: readonly PairingResult[] = []): Interval[] =>
    rows.flatMap(({ name: row, addedMs }) => {
      const delay = TOKEN.exec(row)?.[1];
      return delay === undefined ? [] : [{ group: name, label: `${delay} ms`, at: addedMs }];
    });
  const rows = [
    ...group("AWS KMS, against SignCommand", aws),
    ...group("Google Cloud KMS, against asymmetricSign", google),
    ...group("Azure Key Vault, against a request of undici", azure),
    ...group("Vault, against a request of undici", vault),
    ...group("core alone, against the bare signer", core),
  ];
  const question = "How much longer does a verified token take than the bare call?";
  return intervalPlot("added", question, "milliseconds longer, by the latency of the backend (linear axis)", rows);
}

function intervalPlot(name: string, question: string, axis: string, rows: readonly Interval[]): PagePlot | undefined {
  if (rows.length === 0) return undefined;
  const groups = [...new Set(rows.map(({ group }) => group))];
  const labels = [...new Set(rows.map(({ label }) => label))];
  const marks: Mark[] = [
    Plot.ruleX([0]),
    Plot.ruleY(rows, { y: "label", x1: low, x2: high, fy: "group", stroke: OURS, strokeWidth: 3 }),
    Plot.dot(rows, { y: "label", x: value, fy: "group", fill: OURS, r: 5 }),
    Plot.text(rows, { y: "label", x: high, fy: "group", text: shown, dx: 8, textAnchor: "start" }),
    ...headings(groups),
  ];
  const svg = drawPlot([question, axis], {
    height: groups.length * (labels.length * 24 + 40) + 60,
    marginLeft: 60,
    marginRight: 60,
    x: { label: null, grid: true, nice: true },
    y: { label: null, domain: labels },
    fy: { label: null, axis: null, domain: groups, padding: 0.2 },
    marks,
  });
  return { name, question, svg };
}

interface Rate {
  readonly group: string;
  readonly side: "Signpost" | "bare";
  readonly calls: number;
  readonly perSecond: number;
}

const CALLS = /(?:tokens, (\d+) at once|(\d+) sessions)$/;

function ratePlot(...[aws, google, azure, vault, pkcs11]: readonly (readonly PairingResult[])[]): PagePlot | undefined {
  const group = (name: string, rows: readonly PairingResult[] = []): Rate[] =>
    rows.flatMap(({ name: row, ours, peer }) => {
      const [, tokens, sessions] = CALLS.exec(row) ?? [];
      const calls = Number(tokens ?? sessions);
      if (Number.isNaN(calls) || !/of 25 ms/.test(row)) return [];
      return [
        { group: name, side: "Signpost", calls, perSecond: 1000 / ours.ms.median },
        { group: name, side: "bare", calls, perSecond: 1000 / peer.ms.median },
      ] as const;
    });
  const rates = [
    ...group("AWS KMS: tokens; bare: SignCommand", aws),
    ...group("Google Cloud KMS: tokens; bare: asymmetricSign", google),
    ...group("Azure Key Vault: tokens; bare: a request of undici", azure),
    ...group("Vault: tokens; bare: a request of undici", vault),
    ...group("PKCS#11: signatures; bare: a pool written by hand", pkcs11),
  ];
  if (rates.length === 0) return undefined;
  const groups = [...new Set(rates.map(({ group: name }) => name))];
  const common = { x: "calls", y: "perSecond", fy: "group" } as const;
  const side = (name: Rate["side"], color: string, dy: number): Mark[] => {
    const data = rates.filter((rate) => rate.side === name);
    return [
      Plot.line(data, { ...common, stroke: color, strokeWidth: 2 }),
      Plot.dot(data, { ...common, fill: color, r: 4 }),
      Plot.text(data, { ...common, text: ({ perSecond }: Rate) => figure(Math.round(perSecond)), dy, fill: color }),
    ];
  };
  const question = "How many signatures can one process make in a second, with a backend of 25 ms?";
  const svg = drawPlot(
    [
      question,
      "per second, by calls at once (both axes logarithmic)",
      { text: "blue: Signpost, each token verified", color: OURS },
      { text: "gray: the bare call", color: PEER },
    ],
    {
      height: groups.length * 210 + 60,
      marginLeft: 56,
      marginRight: 30,
      x: { type: "log", base: 2, label: null, ticks: [1, 4, 16, 64, 256], tickFormat: "d", inset: 20 },
      y: { type: "log", label: null, ticks: [100, 1000], tickFormat: "d", grid: true, insetTop: 26, insetBottom: 22 },
      fy: { label: null, axis: null, domain: groups, padding: 0.2 },
      marks: [...side("bare", PEER, -12), ...side("Signpost", OURS, 14), ...headings(groups)],
    },
  );
  return { name: "rate", question, svg };
}

interface Bar {
  readonly label: string;
  readonly ms: number;
  readonly color: string;
}

function startPlot(rows: readonly PairingResult[]): PagePlot | undefined {
  const first = rows.filter(({ name }) => name.startsWith("first signature"));
  if (first.length === 0) return undefined;
  const bars = first.flatMap(({ name, ours, peer }, index): Bar[] => {
    const key = name.replace(/^.*, /, "");
    const own = ours.name.includes("HTTPS") ? "Signpost over HTTPS" : "Signpost over the SDK";
    const sdk = index === 0 ? [{ label: "bare SDK, key id known", ms: peer.ms.median, color: PEER }] : [];
    return [...sdk, { label: `${own}, ${key}`, ms: ours.ms.median, color: OURS }];
  });
  const question = "AWS KMS: how long does a new process take to make its first signature?";
  const svg = drawPlot([question, "milliseconds (linear axis), service of 0 ms"], {
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
  return { name: "start", question, svg };
}

/** Our time as a multiple of the peer's. On a logarithmic axis, half and twice are equally far from 1. */
function ratioPlot(
  name: string,
  question: string,
  bench: string,
  rows: readonly PairingResult[],
): PagePlot | undefined {
  if (rows.length === 0) return undefined;
  const lines = rows.map((row) => ({ label: labelOf(row), at: row.ratio }));
  const bounds = lines.flatMap(({ at }) => [at.low, at.high]);
  const domain = [Math.min(0.5, ...bounds) / 1.1, Math.max(2, ...bounds) * 1.6];
  const svg = drawPlot([question, `Signpost as a multiple of the peer (logarithmic axis); benchmark "${bench}"`], {
    height: lines.length * (lines.some(({ label }) => label.length > LABEL_CHARACTERS) ? 60 : 44) + 60,
    marginLeft: 10,
    marginRight: 40,
    x: {
      type: "log",
      label: null,
      domain,
      ticks: [0.1, 0.25, 0.5, 1, 2, 4].filter((tick) => tick >= (domain[0] ?? 0) && tick <= (domain[1] ?? 0)),
      tickFormat: figure,
      grid: true,
    },
    y: { label: null, axis: null, domain: lines.map(({ label }) => label) },
    marks: [
      Plot.ruleX([1], { strokeWidth: 2 }),
      Plot.ruleY(lines, { y: "label", x1: low, x2: high, stroke: OURS, strokeWidth: 3, dy: 10 }),
      Plot.dot(lines, { y: "label", x: value, fill: OURS, r: 5, dy: 10 }),
      Plot.text(lines, { y: "label", x: high, text: shown, dx: 8, dy: 10, textAnchor: "start" }),
      Plot.text(lines, {
        y: "label",
        text: "label",
        frameAnchor: "left",
        textAnchor: "start",
        lineAnchor: "bottom",
        lineWidth: 32,
        dx: 2,
        dy: -2,
        ...HALO,
      }),
    ],
  });
  return { name, question, svg };
}

function labelOf({ name, peer }: PairingResult): string {
  return name.includes(peer.name) ? name : `${name}, against ${peer.name}`;
}

/** The rows that compare with a peer of another maker. */
function against(rows: readonly PairingResult[]): readonly PairingResult[] {
  return rows.filter(({ name }) => name.includes("against") && !name.includes("keys"));
}

function headings(groups: readonly string[]): Mark[] {
  const data = groups.map((group) => ({ group }));
  return [Plot.text(data, { fy: "group", text: "group", frameAnchor: "top-left", dy: -18, fontWeight: 600 })];
}

const low = ({ at }: { readonly at: Estimate }): number => at.low;
const high = ({ at }: { readonly at: Estimate }): number => at.high;
const value = ({ at }: { readonly at: Estimate }): number => at.value;
const shown = ({ at }: { readonly at: Estimate }): string => figure(Number(at.value.toPrecision(2)));
