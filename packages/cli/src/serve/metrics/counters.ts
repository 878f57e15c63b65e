import type { Sample } from "./exposition.ts";

/** A number for each combination of labels, which only grows. */
export interface Counter {
  add(labels: Readonly<Record<string, string>>): void;
  samples(): readonly Sample[];
}

/** `from`: combinations that are there from the beginning, with 0, so that a rate sees the first one. */
export function createCounter(from: readonly Readonly<Record<string, string>>[] = []): Counter {
  const counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>();
  const entryOf = (labels: Readonly<Record<string, string>>): { value: number } => {
    const key = Object.values(labels).join("\n");
    const entry = counts.get(key) ?? { labels, value: 0 };
    counts.set(key, entry);
    return entry;
  };
  for (const labels of from) entryOf(labels);
  return {
    add: (labels) => {
      entryOf(labels).value += 1;
    },
    samples: () => [...counts.values()].map(({ labels, value }) => ({ labels, value })),
  };
}

/** What a server counts. */
export interface Counters {
  readonly requests: Counter;
  readonly refused: Counter;
  readonly evicted: Counter;
  readonly loads: Counter;
  readonly keyFailures: Counter;
}

const PORTS = ["public", "admin"] as const;
export type PortName = (typeof PORTS)[number];

export function createCounters(): Counters {
  return {
    requests: createCounter(),
    refused: createCounter(
      PORTS.flatMap((port) => ["malformed", "too_large", "timeout", "pipelined"].map((reason) => ({ port, reason }))),
    ),
    evicted: createCounter(PORTS.map((port) => ({ port }))),
    loads: createCounter(["success", "failure"].map((result) => ({ result }))),
    keyFailures: createCounter(),
  };
}
