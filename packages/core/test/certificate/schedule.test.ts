import { describe, expect, test } from "vitest";
import {
  type ConfigurationError,
  createJwksEndpoint,
  createRotationSchedule,
  emergencyRotation,
  type ScheduledEntry,
  serializeJwks,
} from "@signpost/core";
import { inspectSchedule } from "@signpost/core/adapter";
import { bundleOf, type Issued, leaf, root } from "../support/certificates.ts";
import { newP256Jwk, parseBody, publishingSigner, thrownBy } from "../support/key-fixtures.ts";
import { atHour, ClassEntry, clock, EMERGENCY_LENGTHS, HOUR } from "../support/schedules.ts";

const CA = root({ from: -10_000, until: 10_000 });

/** A certificate that is valid between two hours of the tests. */
function certified(from: number, until: number): Issued {
  const days = (hours: number): number => (atHour(hours).getTime() - Date.now()) / (24 * HOUR);
  return leaf(CA, { from: days(from), until: days(until) });
}

function entryOf(keyId: string, announced: number, active: number, certificate?: Issued): ScheduledEntry {
  const moments = { announcedFrom: atHour(announced), activeFrom: atHour(active) };
  const signer = publishingSigner(certificate?.jwk ?? newP256Jwk());
  return {
    keyId,
    signer,
    ...moments,
    ...(certificate === undefined ? {} : { certificates: { chain: certificate.pem } }),
  };
}

const scheduleAt = (entries: readonly ScheduledEntry[], hours: number) => {
  const time = clock(hours);
  return { schedule: createRotationSchedule(entries, { ...EMERGENCY_LENGTHS, now: time.now }), time };
};

const FIRST = certified(-100, 150);
const NEXT = certified(80, 1000);
const ENTRIES = [entryOf("a", 0, 0, FIRST), entryOf("b", 90, 100, NEXT), entryOf("c", 190, 200)];

describe("a schedule", () => {
  test("publishes the certificates of a key while it is published", () => {
    const { schedule, time } = scheduleAt(ENTRIES, 10);
    const chains = (): unknown[] =>
      parseBody(serializeJwks(schedule.keySet()).body).keys.map(({ kid, x5c }) => [kid, x5c]);
    expect(chains()).toEqual([["a", [FIRST.base64]]]);
    time.set(95);
    expect(chains()).toEqual([
      ["a", [FIRST.base64]],
      ["b", [NEXT.base64]],
    ]);
    time.set(250);
    expect(chains()).toEqual([["c", undefined]]);
  });

  test("changes its document and its next change at the same times as without certificates", () => {
    const bare = ENTRIES.map((entry): ScheduledEntry => ({ ...entry, certificates: undefined }));
    const [withChains, without] = [scheduleAt(ENTRIES, 0), scheduleAt(bare, 0)];
    let seen = withChains.schedule.keySet();
    let seenBare = without.schedule.keySet();
    for (let hour = 0; hour < 1500; hour += 1) {
      withChains.time.set(hour);
      without.time.set(hour);
      const [set, bareSet] = [withChains.schedule.keySet(), without.schedule.keySet()];
      expect(set !== seen).toBe(bareSet !== seenBare);
      expect(withChains.schedule.nextChange()).toEqual(without.schedule.nextChange());
      expect(withChains.schedule.jwksRotationActive()).toBe(without.schedule.jwksRotationActive());
      [seen, seenBare] = [set, bareSet];
    }
  });

  test("goes on publishing a chain that expired since it was created", () => {
    const only = [entryOf("a", 0, 0, FIRST)];
    const { schedule, time } = scheduleAt(only, 10);
    const before = serializeJwks(schedule.keySet());
    time.set(5000);
    expect(serializeJwks(schedule.keySet())).toBe(before);
    expect(() => scheduleAt(only, 5000)).toThrow(
      /^entries\[0\]\.certificates: kid "a": expected a chain that is valid at 2026-.*certificate 1 of 1 expired at/,
    );
  });

  test("refuses an expired chain of a key that is published, and accepts that of a withdrawn one", () => {
    const retiring = [entryOf("a", 0, 0, certified(0, 99)), entryOf("b", 90, 100)];
    expect(() => scheduleAt(retiring, 100.5)).toThrow(/^entries\[0\]\.certificates: .*expired/);
    expect(scheduleAt(retiring, 102).schedule.withdrawn()).toMatchObject([{ keyId: "a" }]);
  });

  test("accepts a chain that is valid once the key is announced, and no later one", () => {
    const plan = (from: number, until: number) => [entryOf("a", 0, 0), entryOf("b", 90, 100, certified(from, until))];
    expect(scheduleAt(plan(89, 1000), 10).schedule.keySet().active.keyId).toBe("a");
    expect(() => scheduleAt(plan(91, 1000), 10)).toThrow(/certificate 1 of 1 is not valid before/);
    expect(() => scheduleAt(plan(0, 89), 10)).toThrow(/certificate 1 of 1 expired at/);
  });

  test("has room for the certificates of every document", () => {
    const retiringLong = { maxTokenLifetimeSeconds: 300_000_000, clockSkewSeconds: 0, now: clock(10).now };
    const issuers = Array.from({ length: 7 }).reduce<Issued[]>((above) => [certifiedBy(above[0] ?? CA), ...above], []);
    const entries = Array.from({ length: 12 }, (_, index) => {
      const own = leaf(issuers[0], { from: -10_000, until: 10_000 });
      const chain = bundleOf(own, ...issuers);
      return {
        ...entryOf(`k${index}`, index * 100, index * 100 + 10),
        signer: publishingSigner(own.jwk),
        certificates: { chain },
      };
    });
    const error = thrownBy(() => createRotationSchedule(entries, retiringLong)) as ConfigurationError;
    expect(error).toMatchObject({ argument: "entries", code: "invalid_certificate" });
    expect(
      createRotationSchedule(entries, { ...retiringLong, maxTokenLifetimeSeconds: 3600 }).keySet().active.keyId,
    ).toBe("k0");
    expect(inspectSchedule(entries, retiringLong).mistakes).toContainEqual(error);
  });
});

function certifiedBy(issuer: Issued): Issued {
  return root({ name: `Below ${issuer.plan.name}`.slice(0, 60), issuer, from: -10_000, until: 10_000 });
}

describe("inspectSchedule", () => {
  test("lists every mistake in certificates", () => {
    const foreign = certified(0, 1000);
    const entries = [
      { ...entryOf("a", 0, 0, FIRST), certificates: { chain: foreign.pem } },
      entryOf("b", 90, 100, certified(0, 50)),
      entryOf("c", 190, 200, certified(0, 1000)),
    ];
    expect(
      inspectSchedule(entries, { ...EMERGENCY_LENGTHS, now: clock(95).now }).mistakes.map(({ argument }) => argument),
    ).toEqual(["entries[0].certificates.chain"]);
    const readable = [entryOf("a", 0, 0, FIRST), ...entries.slice(1)];
    expect(
      inspectSchedule(readable, { ...EMERGENCY_LENGTHS, now: clock(95).now }).mistakes.map(({ argument }) => argument),
    ).toEqual(["entries[1].certificates"]);
  });
});

describe("an emergency", () => {
  test("keeps the certificates of the other keys, and takes those of the replacement", () => {
    const fresh = certified(0, 1000);
    const replacement = { keyId: "fresh", signer: publishingSigner(fresh.jwk), certificates: { chain: fresh.pem } };
    const { entries } = emergencyRotation(ENTRIES, { revokedKeyId: "a", at: atHour(92), replacement });
    const { schedule } = scheduleAt(entries, 95);
    expect(parseBody(serializeJwks(schedule.keySet()).body).keys.map(({ kid, x5c }) => [kid, x5c])).toEqual([
      ["fresh", [fresh.base64]],
      ["b", [NEXT.base64]],
    ]);
  });

  test("keeps those of an entry that is an instance of a class", () => {
    const { entries } = emergencyRotation(
      ENTRIES.map((entry) => new ClassEntry(entry)),
      { revokedKeyId: "a", at: atHour(92) },
    );
    expect(entries.find(({ keyId }) => keyId === "b")?.certificates).toEqual({ chain: NEXT.pem });
  });

  test("refuses a replacement whose certificates are of another key", () => {
    const replacement = { keyId: "fresh", signer: publishingSigner(newP256Jwk()), certificates: { chain: NEXT.pem } };
    expect(() => emergencyRotation(ENTRIES, { revokedKeyId: "a", at: atHour(92), replacement })).toThrow(
      /^replacement\.certificates\.chain: kid "fresh", certificate 1 of 1/,
    );
  });
});

test("two replicas publish the same bytes", () => {
  const bodies = [10, 11].map((hour) => {
    const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: scheduleAt(ENTRIES, hour).schedule });
    return endpoint.respond("GET").headers["ETag"];
  });
  expect(bodies[0]).toBe(bodies[1]);
});
