import { describe, expect, test } from "vitest";
import {
  ConfigurationError,
  createRotationSchedule,
  type EmergencyOptions,
  emergencyRotation,
  type RotationScheduleOptions,
  rotationWindow,
  type ScheduledEntry,
} from "@signpost/core";
import { atHour, clock, EPOCH, someSigner } from "../support/schedules.ts";

const [a, b] = [someSigner(), someSigner()];
const FIRST: ScheduledEntry = { keyId: "a", signer: a, announcedFrom: atHour(0), activeFrom: atHour(0) };
const SECOND: ScheduledEntry = { keyId: "b", signer: b, announcedFrom: atHour(90), activeFrom: atHour(100) };

function scheduled(entries: readonly unknown[], options: object = {}, hour = 0) {
  return createRotationSchedule(entries as readonly ScheduledEntry[], {
    maxTokenLifetimeSeconds: 3600,
    clockSkewSeconds: 0,
    now: clock(hour).now,
    ...options,
  });
}

describe("a moment", () => {
  test.each([
    ["without a zone", "2026-01-01T08:00:00"],
    ["that is a day alone", "2026-01-01"],
    ["on a day that does not exist", "2026-02-30T08:00:00Z"],
    ["at hour 24", "2026-01-01T24:00:00Z"],
    ["at second 60", "2026-06-30T23:59:60Z"],
    ["with an offset of 25 hours", "2026-01-01T08:00:00+25:00"],
    ["with the name of a zone", "2026-01-01T08:00:00 Europe/Vienna"],
    ["in milliseconds", EPOCH],
    ["that is no date", new Date(Number.NaN)],
    ["at the end of what a Date can hold", new Date(8.64e15)],
    ["at its beginning", new Date(-8.64e15)],
    ["past the year 9999 by its offset", "9999-12-31T23:59:59-23:59"],
    ["that is null", null],
  ])("%s is refused by its name", (_name, value) => {
    const refused = [
      () => scheduled([{ ...FIRST, activeFrom: value }]),
      () => scheduled([FIRST, { ...SECOND, activeFrom: value }]),
      () => scheduled([FIRST, { ...SECOND, announcedFrom: value }]),
      () => scheduled([FIRST, { ...SECOND, emergencyAt: value }]),
      () => rotationWindow({ startedAt: value as string }),
    ];
    const names = ["entries[0].activeFrom", "entries[1].activeFrom", "entries[1].announcedFrom"];
    for (const [index, argument] of [...names, "entries[1].emergencyAt", "startedAt"].entries()) {
      expect(refused[index]).toThrow(ConfigurationError);
      expect(refused[index]).toThrow(expect.objectContaining({ argument }));
    }
  });

  test.each([
    ["with an offset", "2026-01-05T06:00:00+02:00"],
    ["in lower case", "2026-01-05t04:00:00z"],
    ["with a fraction", "2026-01-05T04:00:00.000000Z"],
    ["in the hour that a summer time leaves out somewhere", "2026-03-29T02:30:00+01:00"],
  ])("%s is read as the same on every machine", (_name, activeFrom) => {
    const schedule = scheduled([FIRST, { ...SECOND, announcedFrom: atHour(10), activeFrom }], {}, 50);
    expect(schedule.nextChange()).toEqual(new Date(activeFrom.toUpperCase()));
  });
});

describe("lengths", () => {
  test("that are fractions of an hour name an earliest moment that is then accepted", () => {
    const hours = [4.1, 4.7, 5.1, 4.000_000_1, 6.333_333];
    for (const announceHours of hours) {
      const refused = () => scheduled([FIRST, { ...SECOND, activeFrom: SECOND.announcedFrom }], { announceHours });
      const earliest = /expected (\S+) or later/.exec(messageOf(refused))?.[1] ?? "";
      const accepted = { ...SECOND, activeFrom: earliest };
      expect(scheduled([FIRST, accepted], { announceHours }).keySet().active.keyId).toBe("a");
    }
  });

  test("at their upper bounds still give moments that a Date can hold", () => {
    const options = {
      announceHours: 8784,
      rotationWindowHours: 8784,
      hintAcceptanceHours: 87_840,
      maxTokenLifetimeSeconds: 315_360_000,
      clockSkewSeconds: 3600,
    };
    const last = { ...SECOND, announcedFrom: "9998-01-01T00:00:00Z", activeFrom: "9999-12-31T23:59:59Z" };
    const schedule = scheduled([FIRST, last], { ...options, now: () => Date.parse("9999-12-31T23:59:59Z") });
    expect(schedule.nextChange()?.getTime()).toBeGreaterThan(Date.parse("9999-12-31T23:59:59Z"));
    const early = () => scheduled([FIRST, { ...last, announcedFrom: "9999-12-31T00:00:00Z" }], options);
    expect(early).toThrow(ConfigurationError);
  });

  test.each<[string, Partial<Record<keyof RotationScheduleOptions, unknown>>]>([
    ["announceHours", { announceHours: "4" }],
    ["announceHours", { announceHours: Number.NaN }],
    ["announceHours", { announceHours: 8785 }],
    ["sharedCaches", { sharedCaches: "no" }],
    ["rotationWindowHours", { rotationWindowHours: -1 }],
    ["hintAcceptanceHours", { hintAcceptanceHours: 87_841 }],
    ["maxTokenLifetimeSeconds", { maxTokenLifetimeSeconds: undefined }],
    ["maxTokenLifetimeSeconds", { maxTokenLifetimeSeconds: 0 }],
    ["maxTokenLifetimeSeconds", { maxTokenLifetimeSeconds: 1.5 }],
    ["maxTokenLifetimeSeconds", { maxTokenLifetimeSeconds: 2 ** 53 }],
    ["clockSkewSeconds", { clockSkewSeconds: 3601 }],
    ["now", { now: EPOCH }],
    ["now", { now: () => Number.NaN }],
    ["now", { now: () => new Date(EPOCH) }],
    ["onDrop", { onDrop: "close" }],
  ])("%s %o is refused by its name", (argument, options) => {
    const refused = () => scheduled([FIRST, SECOND], options);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(expect.objectContaining({ argument }));
  });
});

describe("an announcement", () => {
  test("of the first key may not come after its activation either", () => {
    const late = { ...FIRST, announcedFrom: atHour(1) };
    expect(() => scheduled([late], {}, 2)).toThrow(expect.objectContaining({ argument: "entries[0].activeFrom" }));
  });

  test("is not spared by an emergency that is planned for before the activation", () => {
    const planned = { ...SECOND, announcedFrom: atHour(99), emergencyAt: atHour(99) };
    expect(() => scheduled([FIRST, planned])).toThrow("2026-01-05T07:00:00.000Z or later");
  });

  test("counts for short caching also after the key before it was taken out of the configuration", () => {
    const whole = scheduled([FIRST, SECOND], {}, 110);
    const shorter = scheduled([SECOND], {}, 110);
    expect([whole.jwksRotationActive(), shorter.jwksRotationActive()]).toEqual([true, true]);
  });
});

test.for([
  ["nothing", undefined],
  ["null", null],
  ["a list", []],
] as const)("options that are %s are refused by their name", ([, options]) => {
  const refused = expect.objectContaining({ name: "ConfigurationError", argument: "options" }) as Error;
  expect(() => createRotationSchedule([FIRST], options as unknown as RotationScheduleOptions)).toThrow(refused);
  expect(() => emergencyRotation([FIRST], options as unknown as EmergencyOptions)).toThrow(refused);
});

function messageOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return String(error);
  }
  throw new Error("expected a throw");
}
