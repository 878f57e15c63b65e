import { serializeJwks, type KeyRole } from "@signpost/core";
import type { ServerState } from "../state.ts";
import { isReady } from "../state.ts";
import type { Metric, Sample } from "./exposition.ts";

const ROLES: readonly KeyRole[] = ["active", "announced", "retiring", "legacy", "encryption"];

/** All metrics of a server, as they are now. */
export function collectMetrics(state: ServerState): readonly Metric[] {
  return [...serverMetrics(state), ...keyMetrics(state), ...processMetrics(state)];
}

function serverMetrics(state: ServerState): readonly Metric[] {
  const { counters, reloader, live } = state;
  const last = reloader.last();
  const since = live.serving()?.since;
  const connections = Object.entries(state.listeners).map(([port, listener]) => ({
    labels: { port },
    value: listener.connections(),
  }));
  return [
    gauge("signpost_ready", "1 if the server should get requests, otherwise 0", isReady(state)),
    counter("signpost_http_requests_total", "Answered requests", counters.requests.samples()),
    counter(
      "signpost_http_refused_total",
      "Requests that were not HTTP, too large or too slow",
      counters.refused.samples(),
    ),
    { name: "signpost_http_connections", type: "gauge", help: "Open connections", samples: connections },
    counter(
      "signpost_http_evicted_total",
      "Idle connections that were closed to make room",
      counters.evicted.samples(),
    ),
    counter(
      "signpost_config_loads_total",
      "Loads of the configuration, with those of the start",
      counters.loads.samples(),
    ),
    gauge(
      "signpost_config_last_load_successful",
      "1 if the last load succeeded, otherwise 0",
      last?.failure === undefined && last !== undefined,
    ),
    gauge("signpost_config_loaded_timestamp_seconds", "When what is served was loaded", seconds(since)),
    counter(
      "signpost_key_failures_total",
      "Keys that could not be opened, by error code",
      counters.keyFailures.samples(),
    ),
  ];
}

function keyMetrics({ live }: ServerState): readonly Metric[] {
  const set = live.published();
  if (set === undefined) return [];
  const { etag } = serializeJwks(set);
  const isRotation = live.isRotationActive();
  const keys = ROLES.map((role) => ({ labels: { role }, value: set.keys.filter((key) => key.role === role).length }));
  const each = set.keys.map(({ keyId, role, alg, use }) => ({ labels: { kid: keyId, role, alg, use }, value: 1 }));
  return [
    { name: "signpost_jwks_keys", type: "gauge", help: "Published keys", samples: keys },
    { name: "signpost_jwks_key_info", type: "gauge", help: "1 for each published key", samples: each },
    {
      name: "signpost_jwks_etag_info",
      type: "gauge",
      help: "1 for the current ETag. It is the same on all replicas",
      samples: [{ labels: { etag }, value: 1 }],
    },
    gauge("signpost_jwks_rotation_active", "1 while caches keep the set for 5 minutes, 0 while for 1 hour", isRotation),
    gauge(
      "signpost_jwks_next_change_timestamp_seconds",
      "When the set or its lifetime changes next",
      seconds(live.nextChange()),
    ),
  ];
}

function processMetrics({ version, startedAt }: ServerState): readonly Metric[] {
  const { user, system } = process.cpuUsage();
  const build = [{ labels: { version, node: process.versions.node }, value: 1 }];
  return [
    { name: "signpost_build_info", type: "gauge", help: "1 for the running version", samples: build },
    gauge("process_start_time_seconds", "When the process started", seconds(startedAt)),
    gauge("process_resident_memory_bytes", "Memory of the process", process.memoryUsage.rss()),
    counter("process_cpu_seconds_total", "Processor time of the process", [{ value: (user + system) / 1e6 }]),
  ];
}

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, type: "counter", help, samples };
}

/** Without a value there is no sample: a time that does not exist is no number. */
function gauge(name: string, help: string, value: number | boolean | undefined): Metric {
  return { name, type: "gauge", help, samples: value === undefined ? [] : [{ value: Number(value) }] };
}

function seconds(date: Date | null | undefined): number | undefined {
  return date === null || date === undefined ? undefined : date.getTime() / 1000;
}
