import { describe, expect, test, vi } from "vitest";
import { createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import type { LiveKeys } from "../src/keys/live-keys.ts";
import { gauges } from "../src/program/gauges.ts";
import { createLog } from "../src/program/log.ts";
import { createCounters, exposition, METRICS_TYPE } from "../src/program/metrics.ts";

// What a scraper reads, by the text format 0.0.4 of Prometheus, and a line of the log.

const SIGNED = { version: "v1", method: "Sign", code: "ok" } as const;
const linesOf = (counters: ReturnType<typeof createCounters>): readonly string[] =>
  exposition(counters.samples()).split("\n");

test("the type of the text is the one of the format", () => {
  expect(METRICS_TYPE).toBe("text/plain; version=0.0.4; charset=utf-8");
});

describe("the text of metrics", () => {
  test("has the help and the type of each, with or without samples", () => {
    const metrics = [
      { name: "a", type: "gauge", help: "What it is.", samples: [] },
      {
        name: "b_total",
        type: "counter",
        help: "Another.",
        samples: [{ value: 1 }, { suffix: "_x", labels: { c: "d", e: "" }, value: 0.5 }],
      },
    ] as const;
    expect(exposition(metrics)).toBe(
      '# HELP a What it is.\n# TYPE a gauge\n# HELP b_total Another.\n# TYPE b_total counter\nb_total 1\nb_total_x{c="d",e=""} 0.5\n',
    );
    expect(exposition([])).toBe("");
  });

  test("escapes the values of labels", () => {
    const samples = [{ labels: { kid: 'a"b\\c\nd""\\\\\n' }, value: 1 }];
    expect(exposition([{ name: "a", type: "gauge", help: "", samples }])).toContain(
      String.raw`a{kid="a\"b\\c\nd\"\"\\\\\n"} 1`,
    );
  });
});

describe("calls", () => {
  test("are counted by their method, version and code", () => {
    const counters = createCounters();
    const reports = [
      SIGNED,
      SIGNED,
      { ...SIGNED, version: "v1alpha1" },
      { ...SIGNED, code: "timeout" },
      { ...SIGNED, method: "FetchKeys" },
    ] as const;
    for (const report of reports) counters.call({ ...report, ms: 1 });
    expect(linesOf(counters).filter((line) => line.startsWith("signpost_kubernetes_calls_total"))).toEqual([
      'signpost_kubernetes_calls_total{method="Sign",version="v1",code="ok"} 2',
      'signpost_kubernetes_calls_total{method="Sign",version="v1alpha1",code="ok"} 1',
      'signpost_kubernetes_calls_total{method="Sign",version="v1",code="timeout"} 1',
      'signpost_kubernetes_calls_total{method="FetchKeys",version="v1",code="ok"} 1',
    ]);
  });

  test("that signed a token are in the buckets that are as long or longer, and no others are", () => {
    const counters = createCounters();
    for (const ms of [1, 2.6, 500, 20_000]) counters.call({ ...SIGNED, ms });
    counters.call({ ...SIGNED, code: "timeout", ms: 1 });
    counters.call({ ...SIGNED, method: "Metadata", ms: 1 });
    const name = "signpost_kubernetes_sign_seconds";
    const counts = [1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3];
    const seconds = ["0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10"];
    expect(linesOf(counters).filter((line) => line.startsWith(name))).toEqual([
      ...seconds.map((le, index) => `${name}_bucket{le="${le}"} ${counts[index]}`),
      `${name}_bucket{le="+Inf"} 4`,
      expect.stringMatching(/_sum 20\.50(?:36|3599\d+|3600\d+)$/),
      `${name}_count 4`,
    ]);
    expect(exposition(counters.samples())).toContain(`# TYPE ${name} histogram\n`);
  });
});

describe("loads of the configuration", () => {
  const ofLoads = (counters: ReturnType<typeof createCounters>): readonly string[] =>
    linesOf(counters)
      .filter((line) => line.startsWith("signpost_kubernetes_config"))
      .map((line) => line.replace("signpost_kubernetes_config_", ""));

  test("are counted, with the last one and the time of the one in use", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_500 });
    try {
      const counters = createCounters();
      expect(ofLoads(counters)).toEqual([
        'loads_total{result="success"} 0',
        'loads_total{result="failure"} 0',
        "last_load_successful 0",
      ]);
      counters.load(true);
      counters.load(true);
      vi.setSystemTime(1_800_000_000_000);
      expect(ofLoads(counters)).toContain("last_load_successful 1");
      counters.load(false);
      expect(ofLoads(counters)).toEqual([
        'loads_total{result="success"} 2',
        'loads_total{result="failure"} 1',
        "last_load_successful 0",
        "loaded_timestamp_seconds 1700000000.5",
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("have the types of counters and gauges", () => {
    const types = Object.fromEntries(
      createCounters()
        .samples()
        .map(({ name, type }) => [name.replace("signpost_kubernetes_", ""), type]),
    );
    expect(types).toEqual({
      calls_total: "counter",
      sign_seconds: "histogram",
      config_loads_total: "counter",
      config_last_load_successful: "gauge",
      config_loaded_timestamp_seconds: "gauge",
    });
  });
});

describe("gauges", () => {
  const [active, retiring] = [openLocalSigner(), openLocalSigner()];
  const keysWith = async (change: Date | null): Promise<LiveKeys> => {
    const { publicKey } = await retiring;
    const keySet = createKeySet([
      { keyId: "new", signer: await active },
      { keyId: "old", publicKey },
    ]);
    const schedule = {
      keySet: () => keySet,
      jwksRotationActive: () => false,
      withdrawn: () => [],
      nextChange: () => change,
      latestExpiry: () => 0,
    };
    return { schedule, unopened: () => 3 } as unknown as LiveKeys;
  };
  const ownLines = (keys: LiveKeys, state: Parameters<typeof gauges>[1]): readonly string[] =>
    exposition(gauges(keys, state))
      .split("\n")
      .filter((line) => line.startsWith("signpost_"))
      .map((line) => line.replace("signpost_kubernetes_", ""));

  test("have the keys and the next change", async () => {
    const keys = await keysWith(new Date(1_700_000_000_500));
    expect(ownLines(keys, { isLoaded: true, isReady: true })).toEqual([
      "ready 1",
      "keys_unopened 3",
      'key_info{kid="new",role="active"} 1',
      'key_info{kid="old",role="retiring"} 1',
      "next_change_timestamp_seconds 1700000000.5",
    ]);
  });

  test("have no keys before they are loaded, and no change of a list of keys", async () => {
    const keys = await keysWith(null);
    expect(ownLines(keys, { isLoaded: false, isReady: false })).toEqual(["ready 0", "keys_unopened 3"]);
    expect(ownLines(keys, { isLoaded: true, isReady: false }).at(-1)).toBe('key_info{kid="old",role="retiring"} 1');
  });

  test("have the start and the memory of the process, under the names that scrapers know", async () => {
    const metrics = gauges(await keysWith(null), { isLoaded: false, isReady: false });
    expect(metrics.every(({ type }) => type === "gauge")).toBe(true);
    const value = (name: string): number => metrics.find((each) => each.name === name)?.samples[0]?.value ?? 0;
    expect(value("process_start_time_seconds")).toBe(Math.floor(performance.timeOrigin / 1000));
    expect(value("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
  });
});

test("a line of the log is JSON with the time, the event and its details", () => {
  const lines: string[] = [];
  const log = createLog((line) => void lines.push(line));
  log("info", "ready", "kube-apiserver can connect", { pid: 7, socket: undefined });
  log("error", "failed", "a message");
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { time, level: "info", event: "ready", message: "kube-apiserver can connect", pid: 7 },
    { time, level: "error", event: "failed", message: "a message" },
  ]);
});
