import { describe, expect, test, vi } from "vitest";
import {
  ConfigurationError,
  createRotationSchedule,
  type RotationSchedule,
  type RotationScheduleOptions,
  type ScheduledEntry,
  serializeJwks,
} from "@signpost/core";
import { atHour, clock, someSigner } from "../support/schedules.ts";

const [a, b, c] = [someSigner(), someSigner(), someSigner()];

/** A signs from 0, B from 100 (announced at 90). Tokens live 1 h, hints are accepted for 10 h, clocks agree. */
const TWO: readonly ScheduledEntry[] = [
  { keyId: "a", signer: a, announcedFrom: atHour(0), activeFrom: atHour(0) },
  { keyId: "b", signer: b, announcedFrom: atHour(90), activeFrom: atHour(100) },
];
const OPTIONS = { maxTokenLifetimeSeconds: 3600, hintAcceptanceHours: 10, clockSkewSeconds: 0 } as const;

function scheduled(hours: number, entries = TWO, options: Partial<RotationScheduleOptions> = {}) {
  const { now, set } = clock(hours);
  return { schedule: createRotationSchedule(entries, { ...OPTIONS, now, ...options }), set };
}

function roles(schedule: RotationSchedule): string[] {
  return schedule.keySet().keys.map((key) => `${key.keyId} ${key.role}`);
}

test("nothing can replace what a schedule answers", () => {
  expect(Object.isFrozen(scheduled(0).schedule)).toBe(true);
});

describe("the latest expiry of a token", () => {
  /** In hours, as the times of the entries. */
  const latest = (hour: number, keyId?: string, options?: Partial<RotationScheduleOptions>): number => {
    const { schedule } = scheduled(hour, TWO, options);
    return (schedule.latestExpiry(keyId) - atHour(0).getTime() / 1000) / 3600;
  };

  test.each([
    [0, undefined, 1],
    [50, "a", 51],
    [100, "a", 101],
    // It has signed nothing since.
    [105, "a", 101],
    [105, "b", 106],
    [105, undefined, 106],
    [105, "a kid that no entry has", 106],
  ])("at hour %d under the kid %s is at hour %d", (hour, keyId, expected) => {
    expect(latest(hour, keyId)).toBe(expected);
  });

  test("allows for clocks that differ", () => {
    expect(latest(105, undefined, { clockSkewSeconds: 1800 })).toBe(106.5);
    expect(latest(105, "a", { clockSkewSeconds: 1800 })).toBe(101.5);
  });
});

describe("the life of a key", () => {
  test.each<[number, string[], string[], boolean]>([
    [0, ["a active"], [], false],
    [89.99, ["a active"], [], false],
    [90, ["a active", "b announced"], [], true],
    [99.99, ["a active", "b announced"], [], true],
    [100, ["b active", "a retiring"], [], true],
    [100.99, ["b active", "a retiring"], [], true],
    [101, ["b active"], ["a"], true],
    [110.99, ["b active"], ["a"], true],
    [111, ["b active"], [], true],
    [123.99, ["b active"], [], true],
    [124, ["b active"], [], false],
    [10_000, ["b active"], [], false],
  ])("at hour %d", (hour, published, withdrawn, rotation) => {
    const { schedule } = scheduled(hour);
    expect(roles(schedule)).toEqual(published);
    expect(schedule.keySet().active.keyId).toBe(published[0]?.split(" ")[0]);
    expect(schedule.withdrawn().map((key) => key.keyId)).toEqual(withdrawn);
    expect(schedule.jwksRotationActive()).toBe(rotation);
  });

  test("is the same for a long-running schedule and for one created at that time", () => {
    const lived = scheduled(0);
    for (const hour of [0, 90, 100, 101, 111, 124]) {
      lived.set(hour);
      expect(serializeJwks(lived.schedule.keySet())).toEqual(serializeJwks(scheduled(hour).schedule.keySet()));
    }
  });

  test("lasts for the clock skew on both sides: a retiring key is withdrawn two skews later", () => {
    const { schedule, set } = scheduled(0, TWO, { clockSkewSeconds: 1800 });
    set(101.99);
    expect(roles(schedule)).toEqual(["b active", "a retiring"]);
    set(102);
    expect(roles(schedule)).toEqual(["b active"]);
  });

  test("is ordered by age in the document: retiring keys from the newest, announced ones from the next", () => {
    const [d, e] = [someSigner(), someSigner()];
    const entries = [b, d, e].map((signer, index) => {
      const hour = 100 + index;
      return { keyId: ["b", "d", "e"][index], signer, announcedFrom: atHour(hour - 10), activeFrom: atHour(hour) };
    });
    const { schedule, set } = scheduled(95, [...TWO.slice(0, 1), ...entries], { maxTokenLifetimeSeconds: 86_400 });
    expect(roles(schedule)).toEqual(["a active", "b announced", "d announced", "e announced"]);
    set(102);
    expect(roles(schedule)).toEqual(["e active", "d retiring", "b retiring", "a retiring"]);
    set(134);
    expect(schedule.withdrawn().map((key) => key.keyId)).toEqual(["d", "b"]);
  });

  test("puts keys for other purposes after the signing keys", () => {
    const { schedule } = scheduled(95, TWO, { encryptionKeyset: [{ keyId: "enc", publicKey: { ...c.publicKey } }] });
    expect(roles(schedule)).toEqual(["a active", "b announced", "enc encryption"]);
  });
});

describe("a clock that was set back", () => {
  test("to before the first key gives no set, and says so by the list", () => {
    const { schedule, set } = scheduled(0);
    set(-1);
    expect(() => schedule.keySet()).toThrow(ConfigurationError);
    expect(() => schedule.keySet()).toThrow(expect.objectContaining({ argument: "entries" }));
    set(0);
    expect(roles(schedule)).toEqual(["a active"]);
  });

  test("to when a key without a signer was active gives no set, and says so by the entry", () => {
    const published = { keyId: "a", publicKey: { ...a.publicKey }, announcedFrom: atHour(0), activeFrom: atHour(0) };
    const { schedule, set } = scheduled(100, [published, ...TWO.slice(1)]);
    expect(roles(schedule)).toEqual(["b active", "a retiring"]);
    set(99);
    expect(() => schedule.keySet()).toThrow(ConfigurationError);
    expect(() => schedule.keySet()).toThrow(expect.objectContaining({ argument: "entries[0]" }));
  });
});

describe("identity", () => {
  test("the set is the same object until something changed, and one for one constellation", () => {
    const { schedule, set } = scheduled(0);
    const first = schedule.keySet();
    set(89);
    expect(schedule.keySet()).toBe(first);
    set(90);
    const announced = schedule.keySet();
    expect(announced).not.toBe(first);
    set(89.9);
    expect(schedule.keySet()).toBe(first);
    set(90);
    expect(schedule.keySet()).toBe(announced);
  });

  test("neither a dropped key nor the end of the rotation window changes the set", () => {
    const { schedule, set } = scheduled(101);
    const document = serializeJwks(schedule.keySet());
    set(130);
    expect(serializeJwks(schedule.keySet())).toEqual(document);
  });

  test("withdrawn keys are the same array until something changed", () => {
    const { schedule, set } = scheduled(101);
    const withdrawn = schedule.withdrawn();
    set(105);
    expect(schedule.withdrawn()).toBe(withdrawn);
  });

  test("an entry keeps its ActiveKey from set to set", () => {
    const { schedule, set } = scheduled(0);
    const { active } = schedule.keySet();
    set(95);
    expect(schedule.keySet().active).toBe(active);
  });
});

describe("nextChange", () => {
  test.each([
    [0, 90],
    [90, 100],
    [100, 101],
    [101, 111],
    [111, 124],
  ])("from hour %d is hour %d", (hour, next) => {
    expect(scheduled(hour).schedule.nextChange()).toEqual(atHour(next));
  });

  test("is null when nothing will change any more", () => {
    expect(scheduled(124).schedule.nextChange()).toBeNull();
  });
});

describe("onDrop", () => {
  test("is called once for the entry whose hints are no longer accepted", () => {
    const onDrop = vi.fn<(entry: ScheduledEntry) => void>();
    const { schedule, set } = scheduled(0, TWO, { onDrop });
    set(110.9);
    schedule.keySet();
    expect(onDrop).not.toHaveBeenCalled();
    set(111);
    schedule.keySet();
    schedule.withdrawn();
    set(200);
    schedule.keySet();
    expect(onDrop.mock.calls).toEqual([[TWO[0]]]);
  });

  test.each<[string, () => void | Promise<void>]>([
    [
      "throws",
      () => {
        throw new Error("secret");
      },
    ],
    ["rejects", () => Promise.reject(new Error("secret"))],
  ])("that %s is a warning without its message, and signing goes on", async (_name, onDrop) => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const { schedule } = scheduled(111, TWO, { onDrop });
    expect(roles(schedule)).toEqual(["b active"]);
    expect(String(await warned)).not.toContain("secret");
  });
});

describe("an impossible schedule is refused", () => {
  const at = (activeFrom: number, announcedFrom = activeFrom - 10, keyId = "b", signer = b): ScheduledEntry => ({
    keyId,
    signer,
    announcedFrom: atHour(announcedFrom),
    activeFrom: atHour(activeFrom),
  });
  const first: ScheduledEntry = { keyId: "a", signer: a, announcedFrom: atHour(0), activeFrom: atHour(0) };

  test.each<[string, readonly ScheduledEntry[], Partial<RotationScheduleOptions>, string]>([
    ["announced too late", [first, at(100, 97)], {}, "2026-01-05T05:00:00.000Z or later"],
    [
      "announced too late for the skew",
      [first, at(100, 96)],
      { clockSkewSeconds: 60 },
      "2026-01-05T04:01:00.000Z or later",
    ],
    ["announced after it is active", [first, at(100, 101)], {}, "2026-01-05T09:00:00.000Z or later"],
    [
      "announced too late for its own longer time",
      [first, at(100, 95)],
      { announceHours: 6 },
      "2026-01-05T05:00:00.000Z or later",
    ],
    ["nothing active now", [at(10)], {}, "2026-01-01T10:00:00.000Z"],
    ["one kid twice", [first, at(100, 90, "a")], {}, '"a" twice'],
    ["one key twice", [first, at(100, 90, "b", a)], {}, "a different key, got the key of entries[0]"],
    [
      "a kid of an encryption key",
      [first],
      { encryptionKeyset: [{ keyId: "a", publicKey: { ...c.publicKey } }] },
      '"a" twice',
    ],
    ["two activations at once", [first, at(0)], {}, "must differ from the activeFrom of entries[0]"],
    ["no entries", [], {}, "at least one entry"],
    ["a moment without a zone", [{ ...first, activeFrom: "2026-01-01T00:00:00" }], {}, "entries[0].activeFrom"],
    [
      "an active entry without a signer",
      [{ ...first, signer: undefined, publicKey: { ...a.publicKey } }],
      {},
      "expected a signer",
    ],
    [
      "a future entry without a signer",
      [first, { ...at(100), signer: undefined, publicKey: { ...b.publicKey } }],
      {},
      "expected a signer",
    ],
    ["announceHours below what shared caches hold", [first], { announceHours: 3 }, "from 4"],
    ["announceHours below what any cache holds", [first], { announceHours: 1, sharedCaches: false }, "from 2"],
    ["no token lifetime", [first], { maxTokenLifetimeSeconds: Number.NaN }, "maxTokenLifetimeSeconds"],
    ["a negative skew", [first], { clockSkewSeconds: -1 }, "clockSkewSeconds"],
    ["an endless window", [first], { rotationWindowHours: Number.POSITIVE_INFINITY }, "rotationWindowHours"],
  ])("%s", (_name, entries, options, message) => {
    const refused = () => scheduled(0, entries, options);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(message);
  });

  test("but two hours are enough if the caller says that there is no shared cache", () => {
    const { schedule } = scheduled(0, [first, at(100, 98)], { announceHours: 2, sharedCaches: false });
    expect(roles(schedule)).toEqual(["a active"]);
  });

  test("while a key that signs no more needs no signer", () => {
    const retired = { ...first, signer: undefined, publicKey: { ...a.publicKey } } as unknown as ScheduledEntry;
    expect(roles(scheduled(100.5, [retired, at(100)]).schedule)).toEqual(["b active", "a retiring"]);
  });

  test("a clock that stops making sense makes the source throw, not publish an empty set", () => {
    let time = atHour(1).getTime();
    const schedule = createRotationSchedule(TWO, { ...OPTIONS, now: () => time });
    for (const broken of [Number.NaN, Number.POSITIVE_INFINITY, undefined, atHour(1)]) {
      time = broken as number;
      expect(() => schedule.keySet()).toThrow(expect.objectContaining({ argument: "now" }));
      expect(() => schedule.jwksRotationActive()).toThrow(expect.objectContaining({ argument: "now" }));
    }
    time = atHour(-1).getTime();
    expect(() => schedule.keySet()).toThrow(ConfigurationError);
    time = atHour(100).getTime();
    expect(roles(schedule)).toEqual(["b active", "a retiring"]);
  });
});
