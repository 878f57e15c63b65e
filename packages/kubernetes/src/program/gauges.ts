import { currentKeySet, type RotationSchedule } from "@signpost/core";
import type { LiveKeys } from "../keys/live-keys.ts";
import type { Metric } from "./metrics.ts";

export interface GaugeState {
  /** Whether there are keys. */
  readonly isLoaded: boolean;
  /** What `/readyz` says. */
  readonly isReady: boolean;
}

/** What is read when a scraper asks. */
export function gauges(keys: LiveKeys, { isLoaded, isReady }: GaugeState): readonly Metric[] {
  const gauge = (name: string, help: string, samples: Metric["samples"]): Metric => ({
    name: `signpost_kubernetes_${name}`,
    type: "gauge",
    help,
    samples,
  });
  return [
    gauge("ready", "Whether tokens are signed.", [{ value: isReady ? 1 : 0 }]),
    gauge("keys_unopened", "Keys of the schedule that do not sign yet and cannot be opened.", [
      { value: keys.unopened() },
    ]),
    gauge("key_info", "1 for each published key.", isLoaded ? published(keys.schedule) : []),
    gauge(
      "next_change_timestamp_seconds",
      "When the schedule changes next.",
      isLoaded ? nextChange(keys.schedule) : [],
    ),
    { ...gauge("", "When the process started.", [{ value: startedAt() }]), name: "process_start_time_seconds" },
    {
      ...gauge("", "Memory of the process.", [{ value: process.memoryUsage.rss() }]),
      name: "process_resident_memory_bytes",
    },
  ];
}

function published(schedule: RotationSchedule): Metric["samples"] {
  return currentKeySet(schedule).keys.map(({ keyId: kid, role }) => ({ labels: { kid, role }, value: 1 }));
}

function nextChange(schedule: RotationSchedule): Metric["samples"] {
  const change = schedule.nextChange();
  return change === null ? [] : [{ value: change.getTime() / 1000 }];
}

function startedAt(): number {
  return Math.floor(performance.timeOrigin / 1000);
}
