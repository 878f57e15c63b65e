import { describe, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import type { LoadedConfig } from "../src/config/load-config.ts";
import { buildSchedule } from "../src/keys/build-schedule.ts";
import { createCurrentKeys } from "../src/keys/current-keys.ts";
import { beginningLate, below, planKeys } from "../src/keys/plan.ts";
import { ISSUER } from "./support/claims.ts";

// What becomes of the entries of a configuration.

const local = await openLocalSigner();

const HOUR_MS = 3_600_000;
const START = Date.parse("2026-03-01T08:00:00Z");
const at = (hours: number): string => new Date(START + hours * HOUR_MS).toISOString();
const BASE = { issuer: ISSUER, socket: { systemd: true }, maxTokenLifetimeSeconds: 3600 } as const;
const withKeys = (keys: LoadedConfig["config"]["keys"]): LoadedConfig => ({
  config: { ...BASE, keys },
  schedule: undefined,
  legacyKeys: [],
  audit: undefined,
});
const withSchedule = (schedule: LoadedConfig["schedule"]): LoadedConfig => ({
  config: BASE,
  schedule,
  legacyKeys: [],
  audit: undefined,
});

describe("a list of keys", () => {
  test("must be open, each with its place", () => {
    const { publicKey } = local;
    expect(planKeys(withKeys([{ keyId: "a", uri: "local:a" }, { publicKey }]), START, new Map())).toEqual([
      { place: "keys[0]", uri: "local:a", need: "now", rest: { keyId: "a" }, activeFrom: 0 },
      { place: "keys[1]", uri: undefined, need: "now", rest: { publicKey }, activeFrom: 0 },
    ]);
  });

  test("whose first key cannot sign is refused before one is opened", () => {
    expect(() => planKeys(withKeys([{ publicKey: local.publicKey }]), START, new Map())).toThrow(ConfigurationError);
    expect(() => planKeys(withKeys([]), START, new Map())).toThrow("keys: ");
  });

  test("is a schedule that never changes", () => {
    let time = START + 999;
    const loaded = withKeys([{ keyId: "a", uri: "local:a" }]);
    const [entry] = planKeys(loaded, time, new Map());
    if (entry === undefined) throw new TypeError("an entry is needed");
    const schedule = buildSchedule(loaded, [{ entry, signer: local, lateFrom: undefined }], () => time);
    expect(schedule.keySet().active).toMatchObject({ keyId: "a", signer: local });
    expect(schedule.keySet()).toBe(schedule.keySet());
    expect([schedule.jwksRotationActive(), schedule.withdrawn(), schedule.nextChange()]).toEqual([false, [], null]);
    expect(schedule.latestExpiry()).toBe(START / 1000 + 3600);
    time += 1;
    expect(schedule.latestExpiry()).toBe(START / 1000 + 3601);
  });
});

describe("the keys of a schedule", () => {
  const entry = (name: string, announced: number, active: number) => ({
    keyId: name,
    signer: `local:${name}`,
    announcedFrom: at(announced),
    activeFrom: at(active),
  });
  const needs = (hours: number): readonly string[] =>
    planKeys(
      withSchedule({ entries: [entry("a", 0, 0), entry("b", 10, 20), entry("c", 30, 40)], hintAcceptanceHours: 1 }),
      START + hours * HOUR_MS,
      new Map(),
    ).map(({ need }) => need);

  test.each([
    [0, ["now", "later", "later"]],
    [15, ["now", "later", "later"]],
    [20, ["now", "now", "later"]],
    [21, ["now", "now", "later"]],
    [21.1, ["never", "now", "later"]],
    [23, ["never", "now", "later"]],
    [40, ["never", "now", "now"]],
  ])("after %d hours are needed %j", (hours, expected) => {
    expect(needs(hours)).toEqual(expected);
  });

  test("have their places and dates, in the order in which they sign", () => {
    const loaded = withSchedule({ entries: [entry("b", 10, 20), entry("a", 0, 0)] });
    expect(planKeys(loaded, START, new Map())).toMatchObject([
      { place: "schedule.entries[1]", uri: "local:a", activeFrom: START, rest: { keyId: "a", activeFrom: at(0) } },
      { place: "schedule.entries[0]", uri: "local:b", activeFrom: START + 20 * HOUR_MS },
    ]);
  });

  test("begin when they were there, if that was later than planned", () => {
    const late = START + 25 * HOUR_MS;
    const loaded = withSchedule({ entries: [entry("a", 0, 0), entry("b", 10, 20)] });
    expect(planKeys(loaded, late, new Map([["local:b", late]]))).toMatchObject([
      { need: "now", activeFrom: START },
      { need: "now", activeFrom: late },
    ]);
  });

  test("are refused with the place of a mistake", () => {
    const loaded = withSchedule({ entries: [entry("a", 0, 0), entry("b", 10, 11)] });
    expect(() => planKeys(loaded, START, new Map())).toThrow(/^schedule\.entries\[1\]\.activeFrom: expected /);
  });

  test("are kept as long as the tokens of the configuration live", () => {
    const loaded = withSchedule({ entries: [entry("a", 0, 0)], clockSkewSeconds: 0 });
    const [first] = planKeys(loaded, START, new Map());
    if (first === undefined) throw new TypeError("an entry is needed");
    const schedule = buildSchedule(loaded, [{ entry: first, signer: local, lateFrom: undefined }], () => START);
    expect(schedule.latestExpiry()).toBe(START / 1000 + 3600);
  });
});

test("a date before the one when the key was there is replaced, and a later one counts", () => {
  const planned = { keyId: "a", activeFrom: at(1) };
  expect(beginningLate(planned, undefined)).toBe(planned);
  expect(beginningLate(planned, START)).toBe(planned);
  expect(beginningLate(planned, START + HOUR_MS)).toBe(planned);
  expect(beginningLate(planned, START + HOUR_MS + 1)).toEqual({ keyId: "a", activeFrom: "2026-03-01T09:00:00.001Z" });
  const undated = { keyId: "a" };
  expect(beginningLate(undated, START)).toBe(undated);
});

test("a mistake of core is named by its place, with its cause", () => {
  const cause = new ConfigurationError("entries[0]", "expected a signer");
  expect(below("schedule", cause)).toMatchObject({
    argument: "schedule.entries[0]",
    message: "schedule.entries[0]: expected a signer",
    cause,
  });
});

test("before the first keys there is no schedule to ask", () => {
  const { schedule } = createCurrentKeys();
  for (const ask of [schedule.keySet, schedule.jwksRotationActive, schedule.withdrawn, schedule.nextChange]) {
    expect(() => ask()).toThrow("no keys yet");
  }
});

test("the current keys are those of the last schedule, in all that it says", () => {
  const { schedule, replace } = createCurrentKeys();
  const loaded = withKeys([{ keyId: "a", uri: "local:a" }]);
  const [entry] = planKeys(loaded, START, new Map());
  if (entry === undefined) throw new TypeError("an entry is needed");
  const first = buildSchedule(loaded, [{ entry, signer: local, lateFrom: undefined }], () => START);
  const asked: unknown[] = [];
  const next = {
    keySet: () => first.keySet(),
    jwksRotationActive: () => true,
    withdrawn: () => [],
    nextChange: () => new Date(START),
    latestExpiry: (keyId?: string) => asked.push(keyId),
  };
  replace(first);
  replace(next);
  expect([schedule.jwksRotationActive(), schedule.nextChange(), schedule.keySet()]).toEqual([
    true,
    new Date(START),
    first.keySet(),
  ]);
  expect(schedule.withdrawn()).toEqual([]);
  expect([schedule.latestExpiry("a"), schedule.latestExpiry(), asked]).toEqual([1, 2, ["a", undefined]]);
});
