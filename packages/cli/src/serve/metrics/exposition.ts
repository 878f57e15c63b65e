/** A metric with its samples, as the text format of Prometheus 0.0.4 has them. */
export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly value: number;
}

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The text that Prometheus scrapes. Names are ours; values of labels may be any text. */
export function exposition(metrics: readonly Metric[]): string {
  return metrics.map(linesOf).join("");
}

function linesOf({ name, type, help, samples }: Metric): string {
  const lines = samples.map(({ labels = {}, value }) => `${name}${labelsText(labels)} ${value}\n`);
  return [`# HELP ${name} ${escaped(help)}\n`, `# TYPE ${name} ${type}\n`, ...lines].join("");
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', String.raw`\"`)}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", String.raw`\\`).replaceAll("\n", String.raw`\n`);
}
