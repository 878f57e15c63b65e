import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigurationError, createRotationSchedule, emergencyRotation, type ScheduledEntry } from "@signpost/core";
import { answersAt, atHour, clock, EMERGENCY_LENGTHS, EPOCH, HOUR, someSigner } from "../support/schedules.ts";

const [a, b, c] = [someSigner(), someSigner(), someSigner()];
const [d, fresh, fresher] = [someSigner(), someSigner(), someSigner()];

const ENTRIES: readonly ScheduledEntry[] = [
  { keyId: "a", signer: a, announcedFrom: atHour(0), activeFrom: atHour(0) },
  { keyId: "b", signer: b, announcedFrom: atHour(90), activeFrom: atHour(100) },
  { keyId: "c", signer: c, announcedFrom: atHour(190), activeFrom: atHour(200) },
];
const FRESH = { keyId: "fresh", signer: fresh };
const FRESHER = { keyId: "fresher", signer: fresher };

function revoke(entries: readonly ScheduledEntry[], revokedKeyId: string, hours: number, replacement?: typeof FRESH) {
  return emergencyRotation(entries, { revokedKeyId, at: atHour(hours), replacement });
}

describe("an emergency upon an emergency", () => {
  test("of the replacement lets the next replacement sign immediately", () => {
    const first = revoke(ENTRIES, "b", 150, FRESH).entries;
    const second = revoke(first, "fresh", 151, FRESHER).entries;
    expect(answersAt(second, 151)).toEqual({ published: ["fresher active"], withdrawn: ["a"], rotation: true });
    expect(answersAt(second, 174.9).rotation).toBe(true);
    expect(answersAt(second, 175).rotation).toBe(false);
    expect(answersAt(second, 201).published).toEqual(["c active"]);
  });

  test("of the replacement without another one activates the next entry", () => {
    const second = revoke(revoke(ENTRIES, "b", 150, FRESH).entries, "fresh", 151).entries;
    expect(answersAt(second, 151)).toEqual({ published: ["c active"], withdrawn: ["a"], rotation: true });
  });

  test("of the announced key and then of the active one leaves neither", () => {
    const second = revoke(revoke(ENTRIES, "c", 195).entries, "b", 195, FRESH).entries;
    expect(answersAt(second, 195)).toEqual({ published: ["fresh active"], withdrawn: ["a"], rotation: true });
    expect(answersAt(second, 300).published).toEqual(["fresh active"]);
  });

  test("of every key, in any order, leaves only the replacement", () => {
    const orders = [
      ["a", "c", "b"],
      ["c", "a", "b"],
    ] as const;
    for (const order of orders) {
      const entries = order.reduce<readonly ScheduledEntry[]>(
        (left, keyId) => revoke(left, keyId, 195, keyId === "b" ? FRESH : undefined).entries,
        ENTRIES,
      );
      expect(answersAt(entries, 195)).toEqual({ published: ["fresh active"], withdrawn: [], rotation: true });
    }
  });

  test("of the only key needs a replacement, and then works", () => {
    const [only] = ENTRIES.slice(0, 1);
    const entries = revoke(only === undefined ? [] : [only], "a", 5, FRESH).entries;
    expect(answersAt(entries, 5)).toEqual({ published: ["fresh active"], withdrawn: [], rotation: true });
  });
});

describe("what an emergency does to the entries that follow", () => {
  test("the announcement rule goes on to hold for them", () => {
    const entries = revoke(ENTRIES, "b", 150, FRESH).entries;
    const late = { keyId: "d", signer: d, announcedFrom: atHour(298), activeFrom: atHour(300) };
    expect(() => answersAt([...entries, late], 150)).toThrow("2026-01-13T14:00:00.000Z or later");
  });

  test("a next entry that is activated before it was announced is published from then on", () => {
    const { entries, breaks } = revoke(ENTRIES, "b", 150);
    expect(breaks[1]).toContain(atHour(154).toISOString());
    const schedule = createRotationSchedule(entries, { ...EMERGENCY_LENGTHS, now: clock(174).now });
    // Nothing happens at hour 190, where it would have been announced.
    expect(schedule.nextChange()).toEqual(atHour(1101));
  });

  test("a next entry that was announced just before is trusted as late as its announcement says", () => {
    expect(revoke(ENTRIES, "b", 191).breaks[1]).toContain(atHour(194).toISOString());
  });
});

describe("a published key that never signed", () => {
  test("is taken back with short caching, since relying parties trust it already", () => {
    const { entries, breaks } = revoke(ENTRIES, "c", 195);
    expect(answersAt(entries, 195)).toEqual({ published: ["b active"], withdrawn: ["a"], rotation: true });
    expect(answersAt(entries, 219).rotation).toBe(false);
    expect(breaks).toEqual([expect.stringContaining(`may trust it until ${atHour(199).toISOString()}`)]);
    expect(breaks[0]).toContain("or until it restarts if it keeps each key by its kid");
  });

  test("changes nothing that is published when it was not announced yet", () => {
    const { entries, breaks } = revoke(ENTRIES, "c", 150);
    expect(answersAt(entries, 150)).toEqual({ published: ["b active"], withdrawn: ["a"], rotation: false });
    expect(breaks).toEqual(["kid c: it will not become active"]);
  });
});

describe("a replacement is refused", () => {
  test.each<[string, object]>([
    ["under the kid of the revoked key", { keyId: "b", signer: fresh }],
    ["that is the revoked key under another kid", { keyId: "fresh", signer: b }],
    ["under the kid of another entry", { keyId: "a", signer: fresh }],
    ["that is another entry's key", { keyId: "fresh", signer: c }],
    ["that cannot sign", { keyId: "fresh", publicKey: { ...fresh.publicKey } }],
  ])("%s", (_name, replacement) => {
    const refused = () => revoke(ENTRIES, "b", 150, replacement as typeof FRESH);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(expect.objectContaining({ argument: "replacement" }));
  });

  test("by its absence, when the next entry cannot sign", () => {
    const [first, second] = ENTRIES;
    const third = { keyId: "c", publicKey: { ...c.publicKey }, announcedFrom: atHour(190), activeFrom: atHour(200) };
    const entries = [first, second, third] as readonly ScheduledEntry[];
    expect(() => revoke(entries, "b", 150)).toThrow(expect.objectContaining({ argument: "replacement" }));
  });
});

test("caches that hold a set for longer than four hours are allowed for", () => {
  const options = { revokedKeyId: "b", at: atHour(150), replacement: FRESH };
  expect(emergencyRotation(ENTRIES, { ...options, announceHours: 8 }).breaks[1]).toContain(atHour(158).toISOString());
  expect(() => emergencyRotation(ENTRIES, { ...options, announceHours: 1 })).toThrow(
    expect.objectContaining({ argument: "announceHours" }),
  );
});

test("any chain of emergencies leaves one key that signs, none of the revoked, and every other as it was", () => {
  const spares = Array.from({ length: 5 }, someSigner);
  const attacks = fc.array(fc.record({ hours: fc.integer({ min: 1, max: 60 }), which: fc.nat() }), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(attacks, (steps) => {
      let entries: readonly ScheduledEntry[] = [
        ...ENTRIES,
        { keyId: "d", signer: d, announcedFrom: atHour(290), activeFrom: atHour(300) },
      ];
      let hour = 95;
      const revoked: string[] = [];
      for (const [index, { hours, which }] of steps.entries()) {
        hour += hours;
        const before = answersAt(entries, hour);
        const revokedKeyId = entries[which % entries.length]?.keyId ?? "";
        revoked.push(revokedKeyId);
        const signs = before.published[0] === `${revokedKeyId} active`;
        const replacement = { keyId: `spare ${index}`, signer: spares[index] ?? fresh };
        entries = revoke(entries, revokedKeyId, hour, signs ? replacement : undefined).entries;
        const after = answersAt(entries, hour);
        const others = (names: readonly string[]) => names.filter((name) => !name.startsWith(`${revokedKeyId} `));
        expect(after.published).toEqual([...(signs ? [`spare ${index} active`] : []), ...others(before.published)]);
        expect(after.withdrawn).toEqual(before.withdrawn.filter((keyId) => keyId !== revokedKeyId));
        const was = before.published.some((name) => name.startsWith(`${revokedKeyId} `));
        if (was) expect(after.rotation).toBe(true);
      }
      for (let later = hour; later < hour + 400; later += 7) {
        const schedule = createRotationSchedule(entries, { ...EMERGENCY_LENGTHS, now: () => EPOCH + later * HOUR });
        for (const keyId of revoked) {
          expect(schedule.keySet().find(keyId)).toBeUndefined();
          expect(schedule.withdrawn().map((key) => key.keyId)).not.toContain(keyId);
        }
      }
    }),
    { numRuns: 60 },
  );
});
