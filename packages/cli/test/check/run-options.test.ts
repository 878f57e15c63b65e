import { beforeEach, describe, expect, test, vi } from "vitest";
import { MAX_BYTES, type ProbeOptions } from "../../src/check/check-issuer.ts";
import type { Replica } from "../../src/check/probe/replicas.ts";
import type { Target } from "../../src/check/probe/target.ts";
import type { CheckReport } from "../../src/check/report.ts";
import { runCheck, type CheckFlags } from "../../src/check/run.ts";
import type { WatchEvent } from "../../src/check/watch/state.ts";
import type { WatchOptions } from "../../src/check/watch/watch.ts";
import { recordingContext } from "../support/recording-context.ts";

// What flags mean for a check and for a watch, and how each event of a watch ends it, without a network.

const REPORT: CheckReport = {
  target: "https://op.example",
  jwksUrl: undefined,
  unreachable: undefined,
  isOk: true,
  isStrict: false,
  rows: [],
};
const seen = vi.hoisted(() => ({
  checks: [] as { target: Target; replicas: readonly Replica[]; options: ProbeOptions }[],
  watches: [] as { target: Target; options: WatchOptions }[],
  report: undefined as CheckReport | undefined,
  events: [] as (readonly WatchEvent[])[],
  looks: 0,
}));
vi.mock("../../src/check/check-issuer.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  checkIssuer: async (target: Target, replicas: readonly Replica[], options: ProbeOptions) => {
    seen.checks.push({ target, replicas, options });
    return seen.report;
  },
}));
vi.mock("../../src/check/watch/watch.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  watch: async function* watch(target: Target, options: WatchOptions) {
    seen.watches.push({ target, options });
    for (const events of seen.events) {
      seen.looks += 1;
      yield { events };
    }
  },
}));
beforeEach(() => {
  seen.checks.length = 0;
  seen.watches.length = 0;
  seen.report = REPORT;
  seen.events = [];
  seen.looks = 0;
});

const URL_OF_OP = "https://op.example";
const NEVER = new AbortController().signal;

async function run(flags: CheckFlags, url = URL_OF_OP, signal = NEVER) {
  const context = recordingContext("/");
  const outcome = await runCheck({ ...context, signal }, flags, url).then(
    (code) => ({ code }),
    (error: unknown) => ({ error }),
  );
  return { code: undefined, error: undefined, ...outcome, printed: context.printed() };
}

describe("a check", () => {
  test.each<[flags: CheckFlags, options: Partial<ProbeOptions>]>([
    [{}, {}],
    [{ strict: true }, { isStrict: true }],
    [{ strict: false }, {}],
    [{ allowHttp: true }, { isHttpAllowed: true }],
    [{ allowHttp: false }, {}],
    [{ timeout: 0.1 }, { timeoutMs: 100 }],
    [{ timeout: 60 }, { timeoutMs: 60_000 }],
  ])("with %j has the options %j", async (flags, options) => {
    expect(await run(flags)).toMatchObject({ code: 0 });
    const usual = { isStrict: false, isHttpAllowed: false, timeoutMs: 10_000, signal: NEVER };
    expect(seen.checks.map((check) => check.options)).toEqual([{ ...usual, ...options }]);
    expect(seen.watches).toEqual([]);
  });

  test("has the replicas that are named, and none otherwise", async () => {
    await run({});
    await run({ replicas: "10.0.0.7:80,10.0.0.8:80" });
    expect(seen.checks.map(({ replicas }) => replicas.map(({ name }) => name))).toEqual([
      [],
      ["10.0.0.7:80", "10.0.0.8:80"],
    ]);
  });

  test.each<[flags: CheckFlags, kind: Target["kind"]]>([
    [{}, "unknown"],
    [{ jwks: true }, "jwks"],
    [{ jwks: false }, "unknown"],
  ])("with %j takes its URL for one of the kind %s", async (flags, kind) => {
    await run(flags);
    expect(seen.checks.map(({ target }) => target.kind)).toEqual([kind]);
  });

  test.each<[what: string, report: Partial<CheckReport>, code: number]>([
    ["no fault", {}, 0],
    ["a fault", { isOk: false }, 1],
  ])("with %s ends with its code, and the report", async (_what, report, code) => {
    seen.report = { ...REPORT, ...report };
    const { printed, ...ended } = await run({ json: true });
    expect(ended).toMatchObject({ code });
    expect(JSON.parse(printed)).toMatchObject({ ...report, target: URL_OF_OP });
  });

  test("reads a megabyte at most", () => {
    expect(MAX_BYTES).toBe(1_048_576);
  });

  test("names a host that is away by a URL that is not too long", async () => {
    seen.report = { ...REPORT, unreachable: "no connection (ECONNREFUSED)" };
    const url = `${URL_OF_OP}/${"a".repeat(200)}`;
    expect((await run({ json: true }, url)).error).toMatchObject({
      exitCode: 3,
      code: "unreachable",
      message: `${url.slice(0, 120)}…: no connection (ECONNREFUSED)`,
    });
  });
});

describe("a watch", () => {
  const WATCH: CheckFlags = { watch: true, json: true };
  const AT = 1_000_000_000_000;
  const WATCHING: WatchEvent = { event: "watching", at: AT, keys: ["old"], cacheControl: "" };
  const ANNOUNCED: WatchEvent = { event: "announced", at: AT, key: "new", direct: AT, shared: AT };
  const FAULT: WatchEvent = { event: "fault", at: AT, severity: "must", seen: "bad", advice: "Correct it." };
  const AWAY: WatchEvent = { event: "away", at: AT, why: "no connection" };
  const maySign = (key: string, behindSharedCache: boolean): WatchEvent => ({
    event: "may-sign",
    at: AT,
    key,
    behindSharedCache,
  });
  const LAST = maySign("new", true);

  test.each<[flags: CheckFlags, intervalMs: number]>([
    [{}, 30_000],
    [{ interval: 0.1 }, 100],
    [{ interval: 3600 }, 3_600_000],
  ])("with %j looks every %i ms", async (flags, intervalMs) => {
    await run({ ...WATCH, ...flags });
    const usual = { isStrict: false, isHttpAllowed: false, timeoutMs: 10_000, signal: NEVER };
    expect(seen.watches).toMatchObject([{ target: { url: URL_OF_OP }, options: { ...usual, intervalMs } }]);
    expect(seen.checks).toEqual([]);
  });

  test.each<[what: string, events: readonly WatchEvent[], code: number, looks: number]>([
    ["its key may sign behind a shared cache", [WATCHING, ANNOUNCED, LAST, AWAY], 0, 3],
    ["that happens after a fault", [WATCHING, FAULT, LAST, AWAY], 1, 3],
    ["its key may sign only without a shared cache", [WATCHING, maySign("new", false)], 3, 2],
    ["another key may sign", [WATCHING, maySign("other", true)], 3, 2],
    ["nothing more can be seen", [WATCHING], 3, 1],
    ["the key set is away after it was there", [WATCHING, AWAY], 3, 2],
  ])("for a key ends when %s", async (_what, events, code, looks) => {
    seen.events = events.map((event) => [event]);
    const ended = await run({ ...WATCH, until: "new" });
    expect([ended.code, ended.error, seen.looks]).toEqual([code, undefined, looks]);
    expect(
      ended.printed
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).event),
    ).toEqual(events.slice(0, looks).map(({ event }) => event));
  });

  test("without a key goes on, whichever key may sign", async () => {
    seen.events = [[WATCHING], [LAST], [ANNOUNCED]];
    expect((await run(WATCH)).code).toBe(3);
    expect(seen.looks).toBe(3);
  });

  test("that was stopped ends with that", async () => {
    const stopped = await run(WATCH, URL_OF_OP, AbortSignal.abort(new Error("stopped")));
    expect(stopped.error).toMatchObject({ message: "stopped" });
  });

  test.each<[what: string, event: WatchEvent, error: object | undefined]>([
    ["was there before", { ...WATCHING, keys: ["old", "new"] }, { exitCode: 2, code: "announced_before" }],
    ["was announced without a lifetime", { ...ANNOUNCED, shared: undefined }, { exitCode: 1, code: "no_lifetime" }],
    ["was announced", ANNOUNCED, undefined],
    ["was announced next to one without a lifetime", { ...ANNOUNCED, key: "x", shared: undefined }, undefined],
  ])("for a key that %s", async (_what, event, error) => {
    seen.events = [[event]];
    const ended = await run({ ...WATCH, until: "new" });
    expect(ended.error).toEqual(error === undefined ? undefined : expect.objectContaining(error));
  });

  test("without a key takes announcements as they are", async () => {
    seen.events = [[WATCHING, { ...ANNOUNCED, shared: undefined }]];
    expect((await run(WATCH)).error).toBeUndefined();
  });

  test("that begins without a key set ends at once", async () => {
    seen.events = [[AWAY], [WATCHING]];
    expect((await run(WATCH)).error).toMatchObject({ exitCode: 3, code: "unreachable" });
    expect(seen.looks).toBe(1);
  });

  test("tells people in lines, and programs in JSON", async () => {
    seen.events = [[WATCHING]];
    expect((await run({ watch: true })).printed).toContain("  watching old\n");
    expect(JSON.parse((await run(WATCH)).printed)).toMatchObject({ event: "watching", keys: ["old"] });
  });
});
