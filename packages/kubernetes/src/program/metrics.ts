import type { CallReport } from "../service/events.ts";

/** What is counted while the program runs. */
export interface Counters {
  call(report: CallReport): void;
  load(isSuccess: boolean): void;
  samples(): readonly Metric[];
}

/** A metric with its samples, as the text format of Prometheus 0.0.4 has them. */
export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly Sample[];
}

interface Sample {
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createCounters(): Counters {
  const calls = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();
  const buckets = BUCKETS_SECONDS.map((le) => ({ le, count: 0 }));
  const loads = { success: 0, failure: 0 };
  let sum = 0;
  let count = 0;
  let lastLoad = 0;
  let loadedAt = 0;

  return {
    call({ method, version, code, ms }) {
      const name = JSON.stringify([method, version, code]);
      const counted = calls.get(name) ?? { labels: { method, version, code }, value: 0 };
      counted.value += 1;
      calls.set(name, counted);
      if (method !== "Sign" || code !== "ok") return;
      const seconds = ms / 1000;
      sum += seconds;
      count += 1;
      for (const bucket of buckets) if (seconds <= bucket.le) bucket.count += 1;
    },
    load(isSuccess) {
      loads[isSuccess ? "success" : "failure"] += 1;
      lastLoad = isSuccess ? 1 : 0;
      if (isSuccess) loadedAt = Date.now() / 1000;
    },
    samples: () => [
      {
        name: "signpost_kubernetes_calls_total",
        type: "counter",
        help: "Calls of kube-apiserver by their end.",
        samples: [...calls.values()],
      },
      {
        name: "signpost_kubernetes_sign_seconds",
        type: "histogram",
        help: "How long tokens took that were signed.",
        samples: [
          ...buckets.map(({ le, count: value }) => ({ suffix: "_bucket", labels: { le: String(le) }, value })),
          { suffix: "_bucket", labels: { le: "+Inf" }, value: count },
          { suffix: "_sum", value: sum },
          { suffix: "_count", value: count },
        ],
      },
      {
        name: "signpost_kubernetes_config_loads_total",
        type: "counter",
        help: "Loads of the configuration.",
        samples: Object.entries(loads).map(([result, value]) => ({ labels: { result }, value })),
      },
      {
        name: "signpost_kubernetes_config_last_load_successful",
        type: "gauge",
        help: "Whether the last load of the configuration succeeded.",
        samples: [{ value: lastLoad }],
      },
      {
        name: "signpost_kubernetes_config_loaded_timestamp_seconds",
        type: "gauge",
        help: "When the configuration in use was loaded.",
        samples: loadedAt === 0 ? [] : [{ value: loadedAt }],
      },
    ],
  };
}

/** The text that Prometheus scrapes. */
export function exposition(metrics: readonly Metric[]): string {
  return metrics.map(linesOf).join("");
}

function linesOf({ name, type, help, samples }: Metric): string {
  const lines = samples.map(
    ({ suffix = "", labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${value}\n`,
  );
  return [`# HELP ${name} ${help}\n`, `# TYPE ${name} ${type}\n`, ...lines].join("");
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string): string {
  return text
    .replaceAll("\\", String.raw`\\`)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll('"', String.raw`\"`);
}
