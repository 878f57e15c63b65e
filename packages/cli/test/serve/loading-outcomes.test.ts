import { ConfigurationError, SignerError } from "@signpost/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLoading } from "../../src/serve/live/loading.ts";
import type { Log } from "../../src/serve/log.ts";
import { createCounters } from "../../src/serve/metrics/counters.ts";
import { recordingContext } from "../support/recording-context.ts";

// How each load of a configuration ends: what is logged and counted, whether it is tried again, and what ends the server.

const fake = vi.hoisted(() => ({
  canAsk: false,
  versions: [] as (number | undefined)[],
  /** What each load fails with, in order. */
  failures: [] as Error[],
  adopted: [] as boolean[],
  onKept: (_place: string, _error: unknown): void => undefined,
  onError: (_error: unknown): void => undefined,
  settings: undefined as object | undefined,
  isServing: false,
}));
vi.mock("../../src/config/load-config.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  loadConfigFile: async (_path: string, _cwd: string, version?: number) => {
    fake.versions.push(version);
    return { name: "op.json", config: {} };
  },
}));
vi.mock("../../src/serve/live/key-book.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  createKeyBook: (_context: object, onKept: typeof fake.onKept) => {
    fake.onKept = onKept;
    return {};
  },
}));
vi.mock("../../src/serve/live/serving.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  requireServable: async () => "/jwks",
  createLive: (_book: object, { onError, ...settings }: { readonly onError: typeof fake.onError }) => {
    fake.onError = onError;
    fake.settings = settings;
    return {
      serving: () => (fake.isServing ? {} : undefined),
      adopt: async (_loaded: object, again: boolean) => {
        const failure = fake.failures.shift();
        if (failure !== undefined) throw failure;
        fake.adopted.push(again);
        fake.isServing = true;
      },
    };
  },
}));
vi.mock("../../src/program/prompts.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  canAsk: () => fake.canAsk,
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(Math, "random").mockReturnValue(0);
  Object.assign(fake, { canAsk: false, isServing: false });
  for (const list of [fake.versions, fake.failures, fake.adopted]) list.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const AWAY = new SignerError("unavailable", "no answer", { transient: true });
const WRONG = new ConfigurationError("keys", "expected a list");
const PIN = new SignerError("pin_incorrect", "the PIN is wrong!");
const GONE = new SignerError("key_not_found", "there is no such key");

function loading() {
  const log = vi.fn<Log>();
  const counters = createCounters();
  const path = "/etc/op.json";
  const settings = { path, log, counters, cors: true, weakIfNoneMatch: "match" } as const;
  const { reloader, started } = createLoading(recordingContext("/"), settings);
  const ends: unknown[] = [];
  void started.then(
    () => ends.push("started"),
    (error: unknown) => ends.push(error),
  );
  const load = async (reason: "start" | "change" | "signal"): Promise<void> => {
    reloader.request(reason);
    await vi.advanceTimersByTimeAsync(0);
  };
  const failed = (): readonly unknown[] => counters.keyFailures.samples().map(({ labels, value }) => [labels, value]);
  const loads = (): readonly number[] => counters.loads.samples().map(({ value }) => value);
  return { log, load, ends, failed, loads, reloader };
}

describe("a first load", () => {
  test("that succeeds starts the server", async () => {
    const { log, load, ends, failed, loads } = loading();
    await load("start");
    expect(ends).toEqual(["started"]);
    expect(log.mock.calls).toEqual([["info", "loaded", "loaded the configuration (start)", { reason: "start" }]]);
    expect([failed(), loads()]).toEqual([[], [1, 0]]);
    expect([fake.versions, fake.adopted, fake.settings]).toEqual([
      [1],
      [false],
      { cors: true, weakIfNoneMatch: "match" },
    ]);
  });

  test.each([
    ["a mistake", WRONG],
    ["a key that is not there", GONE],
  ])("that fails by %s ends it, without a word in the log", async (_what, error) => {
    const { log, load, ends, failed, loads } = loading();
    fake.failures.push(error);
    await load("start");
    expect(ends).toEqual([error]);
    expect([log.mock.calls, failed(), loads(), vi.getTimerCount()]).toEqual([[], [], [0, 1], 0]);
  });

  test("that fails by an outage is tried again, and later failures of another kind end it", async () => {
    const { log, load, ends, failed, loads } = loading();
    fake.failures.push(AWAY, AWAY, GONE);
    await load("start");
    expect(log.mock.calls).toEqual([
      [
        "warn",
        "load_failed",
        "no answer. Serves nothing yet, and tries again in 1.0 s",
        { code: "unavailable", hint: undefined, reason: "start" },
      ],
    ]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(log.mock.lastCall?.[2]).toBe("no answer. Serves nothing yet, and tries again in 2.0 s");
    expect(log.mock.lastCall?.[3]).toMatchObject({ reason: "retry" });
    expect([ends, failed()]).toEqual([[], [[{ code: "unavailable" }, 2]]]);
    await vi.advanceTimersByTimeAsync(2000);
    expect([ends, failed(), loads(), log.mock.calls.length]).toEqual([
      [GONE],
      [[{ code: "unavailable" }, 2]],
      [0, 3],
      2,
    ]);
  });

  test("that fails by a wrong PIN waits long, and is an error of the log", async () => {
    const { log, load, ends, failed } = loading();
    fake.failures.push(PIN);
    await load("start");
    expect(log.mock.calls).toMatchObject([
      [
        "error",
        "load_failed",
        "the PIN is wrong! Serves nothing yet, and tries again in 30.0 s",
        { code: "pin_incorrect" },
      ],
    ]);
    expect([ends, failed()]).toEqual([[], [[{ code: "pin_incorrect" }, 1]]]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(ends).toEqual(["started"]);
  });

  test.each([
    [PIN, 0, "after SIGHUP or a change of the file"],
    [AWAY, 1, "in 1.0 s"],
  ])("at a terminal is tried again: after %o, %i timers", async (error, timers, when) => {
    fake.canAsk = true;
    const { log, load, ends } = loading();
    fake.failures.push(error);
    await load("start");
    expect(log.mock.lastCall?.[2]).toMatch(new RegExp(`Serves nothing yet, and tries again ${when}$`));
    expect([ends, vi.getTimerCount()]).toEqual([[], timers]);
  });

  test("that was asked for by SIGHUP does not end the server", async () => {
    const { log, load, ends } = loading();
    fake.failures.push(AWAY, GONE);
    await load("start");
    await load("signal");
    expect(ends).toEqual([]);
    expect(log.mock.lastCall).toMatchObject([
      "error",
      "load_failed",
      "there is no such key. Serves nothing yet, and tries again after SIGHUP or a change of the file",
      { reason: "signal" },
    ]);
  });
});

describe("a later load", () => {
  test("that fails leaves what is served, and counts failures of keys only", async () => {
    const { log, load, ends, failed, loads } = loading();
    await load("start");
    fake.failures.push(WRONG, GONE);
    await load("change");
    expect(log.mock.lastCall).toEqual([
      "error",
      "load_failed",
      "keys: expected a list. Serves what it had, and tries again after SIGHUP or a change of the file",
      { code: "invalid_configuration", hint: undefined, reason: "change" },
    ]);
    expect(failed()).toEqual([]);
    await load("signal");
    expect(failed()).toEqual([[{ code: "key_not_found" }, 1]]);
    expect([ends, loads(), fake.versions]).toEqual([["started"], [1, 2], [1, 2, 3]]);
  });

  test("that is tried again, and then fails for good, is told", async () => {
    const { log, load } = loading();
    await load("start");
    fake.failures.push(AWAY, GONE);
    await load("change");
    await vi.advanceTimersByTimeAsync(1000);
    expect(log.mock.lastCall).toEqual([
      "error",
      "load_failed",
      "there is no such key. Serves what it had, and tries again after SIGHUP or a change of the file",
      { code: "key_not_found", hint: undefined, reason: "retry" },
    ]);
  });

  test("by SIGHUP reads keys again, and by a change it does not", async () => {
    const { load } = loading();
    for (const reason of ["start", "change", "signal", "change"] as const) await load(reason);
    expect(fake.adopted).toEqual([false, false, true, false]);
  });
});

describe("what the keys tell later", () => {
  test("a key that could not be read again is kept, and counted", () => {
    const { log, failed } = loading();
    fake.onKept("keys[1].signer", AWAY);
    expect(log.mock.calls).toEqual([
      [
        "warn",
        "key_kept",
        "keys[1].signer: no answer. The key that was read before stays published",
        { code: "unavailable" },
      ],
    ]);
    expect(failed()).toEqual([[{ code: "unavailable" }, 1]]);
  });

  test.each([
    ["certificate_expires_soon", "warn", "certificate_expires_soon", "it ends."],
    ["certificate_expired", "error", "certificate_expired", "it ends."],
    ["unavailable", "error", "keys_refused", "it ends. The set before stays published"],
  ] as const)("%s is an event of the level %s", (code, level, event, message) => {
    const { log } = loading();
    fake.onError(Object.assign(new ConfigurationError("a", "b"), { code, message: "it ends" }));
    expect(log.mock.calls).toEqual([[level, event, message, { code }]]);
  });

  test.each([
    ["it ends", "it ends."],
    ["it ends.", "it ends."],
    ["does it end?", "does it end?"],
    ["it ends!", "it ends!"],
    ["it. ends", "it. ends."],
  ])("%s is a sentence", (message, sentence) => {
    const { log } = loading();
    fake.onKept("a", new SignerError("unavailable", message));
    expect(log.mock.lastCall?.[2]).toBe(`a: ${sentence} The key that was read before stays published`);
  });
});
