// The first screen of docs/performance.md: one sentence and one table, from the reports.
import type { PairingResult } from "./measure.ts";
import { type BenchReport, estimate, figure, row } from "./report.ts";

interface Backend {
  readonly name: string;
  readonly bench: string;
  /** The row of single calls. */
  readonly single: string;
  /** The row of 64 calls at once. */
  readonly crowd: string;
}

const BACKENDS: readonly Backend[] = [
  {
    name: "AWS KMS, a token that is signed and verified",
    bench: "aws-kms",
    single: "service of 25 ms, token",
    crowd: "service of 25 ms, tokens, 64 at once",
  },
  {
    name: "AWS KMS over HTTPS, a token that is signed and verified",
    bench: "aws-kms-https",
    single: "service of 25 ms, token",
    crowd: "service of 25 ms, tokens, 64 at once",
  },
  {
    name: "Google Cloud KMS, a token that is signed and verified",
    bench: "gcp-kms",
    single: "service of 25 ms, token",
    crowd: "service of 25 ms, tokens, 64 at once",
  },
  {
    name: "Azure Key Vault, a token that is signed and verified",
    bench: "azure-key-vault",
    single: "service of 25 ms, token",
    crowd: "service of 25 ms, tokens, 64 at once",
  },
  {
    name: "Vault, a token that is signed and verified",
    bench: "vault-transit",
    single: "service of 25 ms, token",
    crowd: "service of 25 ms, tokens, 64 at once",
  },
  {
    name: "PKCS#11, a signature",
    bench: "pkcs11-sessions",
    single: "module of 25 ms, 1 sessions",
    crowd: "module of 25 ms, 64 sessions",
  },
];

const COLUMNS = [
  "backend of 25 ms",
  "added time over the bare call, ms",
  "per second (one process, 64 concurrent calls)",
  "bare calls per second",
  "processor time, ms",
  "processor time of the bare call, ms",
];

/** The summary, in Markdown. */
export function summaryOf(reports: readonly BenchReport[]): string {
  const found = BACKENDS.flatMap(({ name, bench, single, crowd }) => {
    const results = reports.find((report) => report.name === bench)?.results ?? [];
    const one = results.find((result) => result.name === single);
    const many = results.find((result) => result.name === crowd);
    return one === undefined || many === undefined ? [] : [{ name, one, many }];
  });
  const added = found.map(({ one }) => one.addedMs.value);
  const most = Math.max(...added).toFixed(1);
  return [
    `With a backend that takes 25 ms, a signature through Signpost takes at most **${most} ms** longer than the bare call.`,
    "",
    row(COLUMNS),
    row(COLUMNS.map(() => "---")),
    ...found.map(({ name, one, many }) =>
      row([
        name,
        estimate(one.addedMs),
        perSecond(many.ours),
        perSecond(many.peer),
        figure(many.ours.cpuMs.median),
        figure(many.peer.cpuMs.median),
      ]),
    ),
    "",
    "Brackets: 95 % confidence interval of the median. A negative value means that Signpost is faster.",
  ].join("\n");
}

function perSecond({ ms }: PairingResult["ours"]): string {
  return figure(Number((1000 / ms.median).toPrecision(2)));
}
