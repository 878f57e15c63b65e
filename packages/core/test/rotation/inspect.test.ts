import fc from "fast-check";
import { expect, test } from "vitest";
import { createRotationSchedule, type RotationScheduleOptions, type ScheduledEntry } from "@signpost/core";
import { inspectSchedule, phaseAt } from "@signpost/core/adapter";
import { atHour, clock, EPOCH, HOUR, someSigner } from "../support/schedules.ts";

const SIGNERS = Array.from({ length: 4 }, someSigner);
const OPTIONS = { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0 };

function entry(index: number, announced: number, active: number, more: object = {}): ScheduledEntry {
  const signer = SIGNERS[index] ?? someSigner();
  return { keyId: `k${index}`, signer, announcedFrom: atHour(announced), activeFrom: atHour(active), ...more };
}

function mistakes(entries: unknown, options: object = {}, hour = 0): readonly string[] {
  const { now } = clock(hour);
  const given = { ...OPTIONS, now, ...options } as RotationScheduleOptions;
  return inspectSchedule(entries as readonly ScheduledEntry[], given).mistakes.map(({ argument }) => argument);
}

test("a schedule without mistakes is given with the lives of its keys, its cache modes and its changes", () => {
  const schedule = [entry(1, 90, 100), entry(0, 0, 0)];
  const inspected = inspectSchedule(schedule, { ...OPTIONS, hintAcceptanceHours: 10, now: clock(0).now });
  const at = (hour: number): number => EPOCH + hour * HOUR;
  expect(inspected).toEqual({
    mistakes: [],
    keys: [
      {
        index: 1,
        keyId: "k0",
        emergencyAt: undefined,
        announcedFrom: at(0),
        activeFrom: at(0),
        retiringFrom: at(100),
        withdrawnFrom: at(101),
        droppedFrom: at(111),
      },
      {
        index: 0,
        keyId: "k1",
        emergencyAt: undefined,
        announcedFrom: at(90),
        activeFrom: at(100),
        retiringFrom: Infinity,
        withdrawnFrom: Infinity,
        droppedFrom: Infinity,
      },
    ],
    shortCaching: [[at(90), at(124)]],
    changes: [0, 90, 100, 101, 111, 124].map(at),
    leadMs: 4 * HOUR,
    tokenMs: HOUR,
    retiringMs: HOUR,
  });
  const phases = [-1, 0, 100, 101, 111].map((hour) => inspected.keys.map((key) => phaseAt(key, at(hour))).join(" "));
  expect(phases).toEqual([
    "unpublished unpublished",
    "active unpublished",
    "retiring active",
    "withdrawn active",
    "dropped active",
  ]);
});

test("every mistake is listed, each with its own argument", () => {
  const entries = [
    entry(0, 0, 0),
    { ...entry(1, 0, 0), keyId: 7, announcedFrom: "tomorrow", activeFrom: null, emergencyAt: "2026" },
    entry(2, 99, 100),
    entry(2, 200, 210, { keyId: "k0" }),
    entry(3, 300, 310, { keyId: "k0" }),
    "entry",
  ];
  const options = {
    announceHours: 1,
    hintAcceptanceHours: -1,
    clockSkewSeconds: 0.5,
    maxTokenLifetimeSeconds: undefined,
    rotationwindow: 1,
    encryptionKeyset: [{ publicKey: {} }, { publicKey: "x" }],
    legacyVerificationKeys: {},
  };
  expect(mistakes(entries, options)).toEqual([
    "rotationwindow",
    "announceHours",
    "maxTokenLifetimeSeconds",
    "hintAcceptanceHours",
    "clockSkewSeconds",
    "encryptionKeyset[0].publicKey",
    "encryptionKeyset[1].publicKey",
    "legacyVerificationKeys",
    "entries[1].keyId",
    "entries[1].announcedFrom",
    "entries[1].activeFrom",
    "entries[1].emergencyAt",
    "entries[5]",
    "entries[2].activeFrom",
    "entries",
    "entries",
    "entries[3]",
  ]);
});

test("each key that must sign and cannot is named, and that no key signs now", () => {
  const { publicKey } = someSigner();
  const unsigned = { keyId: "p", publicKey: { ...publicKey }, announcedFrom: atHour(1), activeFrom: atHour(1) };
  expect(mistakes([unsigned, entry(0, 90, 100)], {}, 0)).toEqual(["entries", "entries[0]"]);
  expect(mistakes([unsigned, entry(0, 90, 100)], {}, 100)).toEqual([]);
  expect(mistakes([], {}, 0)).toEqual(["entries"]);
  expect(mistakes("list", {}, 0)).toEqual(["entries"]);
});

test("a kid and a key that are there twice are listed apart", () => {
  const entries = [entry(0, 0, 0), entry(0, 0, 10, { keyId: "b" }), entry(1, 0, 20, { keyId: "b" })];
  expect(mistakes(entries)).toEqual(["entries", "entries[1]"]);
});

test("an entry that cannot be read does not make others wrong", () => {
  const { publicKey } = someSigner();
  const retired = { keyId: "p", publicKey: { ...publicKey }, announcedFrom: atHour(0), activeFrom: atHour(0) };
  expect(mistakes([retired, entry(0, 0, 5, { activeFrom: "soon" })], {}, 10)).toEqual(["entries[1].activeFrom"]);
});

test("there is no mistake exactly if createRotationSchedule accepts the schedule, and its mistake is listed", () => {
  const hour = fc.integer({ min: -2, max: 12 });
  const given = fc.record({
    key: fc.integer({ min: 0, max: 3 }),
    keyId: fc.constantFrom("a", "b", "c", "d", ""),
    announced: hour,
    active: hour,
    emergency: fc.option(hour, { nil: undefined }),
    isPublic: fc.boolean(),
  });
  const options = fc.record({
    announceHours: fc.constantFrom(undefined, 2, 4, 5),
    sharedCaches: fc.constantFrom(undefined, false),
    maxTokenLifetimeSeconds: fc.constantFrom(0, 60, 3600),
  });
  fc.assert(
    fc.property(fc.array(given, { maxLength: 4 }), options, hour, (list, chosen, time) => {
      const entries = list.map(({ key, keyId, announced, active, emergency, isPublic }) => {
        const signer = SIGNERS[key] ?? someSigner();
        const dates = { announcedFrom: atHour(announced), activeFrom: atHour(active) };
        const emergencyAt = emergency === undefined ? undefined : atHour(emergency);
        return { keyId, ...(isPublic ? { publicKey: { ...signer.publicKey } } : { signer }), ...dates, emergencyAt };
      });
      const given = { clockSkewSeconds: 0, now: clock(time).now, ...chosen };
      const { mistakes } = inspectSchedule(entries, given);
      const thrown = refusal(() => createRotationSchedule(entries, given));
      if (thrown === undefined) expect(mistakes).toEqual([]);
      else expect(mistakes.map(({ message }) => message)).toContain(thrown);
    }),
    { numRuns: 500 },
  );
});

function refusal(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
}
