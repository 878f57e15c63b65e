import { createECDH } from "node:crypto";
import { expect, test } from "vitest";
import { inspectSchedule } from "@signpost/core/adapter";
import { createRotationSchedule, ecPointToJwk, type ScheduledEntry } from "@signpost/core";
import { publishingSigner } from "../support/key-fixtures.ts";
import { EPOCH, HOUR } from "../support/schedules.ts";

// With work that grows with the square of the entries, or faster, this does not end within the time of a test.
test("a schedule of 3,000 daily rotations answers like a short one", () => {
  let now = EPOCH;
  const keys = Array.from({ length: 3000 }, () => ecPointToJwk(createECDH("prime256v1").generateKeys()));
  const entries = keys.map((key, day): ScheduledEntry => {
    const activeFrom = EPOCH + 24 * day * HOUR;
    const signer = publishingSigner(key);
    return { signer, announcedFrom: new Date(activeFrom - 10 * HOUR), activeFrom: new Date(activeFrom) };
  });
  const schedule = createRotationSchedule(entries, { maxTokenLifetimeSeconds: 3600, now: () => now });
  const changes: string[] = [];
  // To the end, as a program does that draws the schedule.
  for (let next = schedule.nextChange(); next !== null; next = schedule.nextChange()) {
    changes.push(next.toISOString());
    now = next.getTime();
    expect(schedule.keySet().keys.length).toBeLessThan(4);
  }
  expect(changes.slice(0, 4)).toEqual([
    // The second key is announced.
    "2026-01-01T14:00:00.000Z",
    // It becomes active.
    "2026-01-02T00:00:00.000Z",
    // The first is withdrawn: an hour and two skews later.
    "2026-01-02T01:02:00.000Z",
    "2026-01-02T14:00:00.000Z",
  ]);
  now = EPOCH + 24 * 2999 * HOUR;
  expect(schedule.keySet().active.publicKey).toEqual(keys.at(-1));
});

// The same.
test("the mistakes of 10,000 entries, one kid and one key of which are there twice, are listed", () => {
  const keys = Array.from({ length: 10_000 }, () => ecPointToJwk(createECDH("prime256v1").generateKeys()));
  const entries = keys.map((key, day): ScheduledEntry => {
    const activeFrom = EPOCH + 24 * day * HOUR;
    const signer = publishingSigner(day === 9999 ? (keys[0] ?? key) : key);
    const keyId = `k${day === 9998 ? 0 : day}`;
    return { keyId, signer, announcedFrom: new Date(activeFrom - 10 * HOUR), activeFrom: new Date(activeFrom) };
  });
  const { mistakes } = inspectSchedule(entries, { maxTokenLifetimeSeconds: 3600, now: () => EPOCH });
  expect(mistakes.map(({ argument }) => argument)).toEqual(["entries", "entries[9999]"]);
});
