import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRotationSchedule, type RotationSchedule, type ScheduledEntry, serializeJwks } from "@signpost/core";
import { EPOCH, HOUR, scheduleOf, someSigner } from "../support/schedules.ts";

const signers = Array.from({ length: 4 }, someSigner);

/** Schedules whose windows overlap in every way, and whose lengths are no whole numbers of anything. */
const plans = fc
  .record({
    rotationWindowHours: fc.constantFrom(0, 0.1, 1.234_567, 24, 200),
    hintAcceptanceHours: fc.constantFrom(0, 0.000_000_1, 3.3, 50),
    maxTokenLifetimeSeconds: fc.integer({ min: 1, max: 400_000 }),
    gaps: fc.array(fc.record({ hours: fc.double({ min: 0.01, max: 60, noNaN: true }), lead: fc.nat({ max: 30 }) }), {
      maxLength: 3,
    }),
  })
  .map(({ gaps, ...lengths }) => {
    let activeFrom = EPOCH;
    const entries = signers.slice(0, gaps.length + 1).map((signer, index): ScheduledEntry => {
      const gap = gaps[index - 1];
      if (gap === undefined) return { signer, announcedFrom: new Date(EPOCH), activeFrom: new Date(EPOCH) };
      activeFrom += Math.ceil(gap.hours * HOUR);
      const announcedFrom = activeFrom - (5 + gap.lead) * HOUR;
      return { signer, announcedFrom: new Date(announcedFrom), activeFrom: new Date(activeFrom) };
    });
    return { entries, ...lengths };
  });

function answersOf(schedule: RotationSchedule) {
  return {
    document: serializeJwks(schedule.keySet()).body,
    active: schedule.keySet().active.keyId,
    withdrawn: schedule.withdrawn().map((key) => key.keyId),
    rotation: schedule.jwksRotationActive(),
    next: schedule.nextChange(),
  };
}

describe("a schedule that is read at any time", () => {
  test("answers like a schedule created at that time, whatever its clock showed before", () => {
    fc.assert(
      fc.property(
        plans,
        fc.array(fc.integer({ min: 0, max: 500 * HOUR }), { minLength: 1, maxLength: 8 }),
        (plan, steps) => {
          let time = EPOCH;
          const lived = scheduleOf(plan, () => time);
          for (const step of steps) {
            time = EPOCH + step;
            const made = scheduleOf(plan, () => time);
            expect(answersOf(lived)).toEqual(answersOf(made));
          }
        },
      ),
      { numRuns: 80 },
    );
  });

  test("keeps its objects from one change to the next, and every change that nextChange names is one", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        let time = EPOCH;
        const schedule = scheduleOf(plan, () => time);
        for (let change = schedule.nextChange(); change !== null; change = schedule.nextChange()) {
          const before = [schedule.keySet(), schedule.withdrawn(), schedule.jwksRotationActive()] as const;
          expect(change.getTime()).toBeGreaterThan(time);
          time = change.getTime() - 1;
          expect([schedule.keySet(), schedule.withdrawn(), schedule.jwksRotationActive()]).toEqual(before);
          expect(schedule.keySet()).toBe(before[0]);
          expect(schedule.withdrawn()).toBe(before[1]);
          time = change.getTime();
          const after = [schedule.keySet(), schedule.withdrawn(), schedule.jwksRotationActive()] as const;
          expect(after.some((answer, index) => answer !== before[index])).toBe(true);
          // A new object is a new answer.
          if (after[0] !== before[0]) expect(describeKeys(after[0])).not.toEqual(describeKeys(before[0]));
          if (after[1] !== before[1]) expect(after[1]).not.toEqual(before[1]);
        }
        time += 1e6 * HOUR;
        expect(schedule.keySet().keys).toHaveLength(1);
        expect(schedule.withdrawn()).toEqual([]);
        expect(schedule.jwksRotationActive()).toBe(false);
      }),
      { numRuns: 80 },
    );
  });
});

describe("known schemes", () => {
  // noCTF PR 288: windows that slide by half an epoch, so that two keys are always published.
  test("half-epoch sliding windows: two keys at any time, and the one that signs was there half an epoch before", () => {
    const half = 24 * HOUR;
    const entries = signers.map((signer, index) => {
      const activeFrom = EPOCH + index * 2 * half;
      return { signer, announcedFrom: new Date(activeFrom - half), activeFrom: new Date(activeFrom) };
    });
    let time = EPOCH;
    const options = { maxTokenLifetimeSeconds: 86_400, clockSkewSeconds: 0, now: () => time };
    const schedule = createRotationSchedule(entries, options);
    const published: string[] = [];
    for (let index = 2; index < 7; index += 1) {
      for (const offset of [0, half / 2, half - 1]) {
        time = EPOCH + index * half + offset;
        published.push(
          schedule
            .keySet()
            .keys.map((key) => key.role)
            .join(" + "),
        );
      }
    }
    const [first, second] = ["active + retiring", "active + announced"];
    expect(published).toEqual([first, second, first, second, first].flatMap((roles) => [roles, roles, roles]));
  });

  // c8s PR 298: a document that is only made when a key rotates keeps a retired key for the whole interval.
  test("a retired key leaves at the end of its overlap, and not with the next rotation a month later", () => {
    const [old, next, last] = signers;
    if (old === undefined || next === undefined || last === undefined) throw new Error("expected three signers");
    let time = EPOCH;
    const schedule = createRotationSchedule(
      [
        { keyId: "old", signer: old, announcedFrom: new Date(EPOCH), activeFrom: new Date(EPOCH) },
        ...[next, last].map((signer, index) => {
          const activeFrom = EPOCH + (index + 1) * 720 * HOUR;
          return { signer, announcedFrom: new Date(activeFrom - 10 * HOUR), activeFrom: new Date(activeFrom) };
        }),
      ],
      { maxTokenLifetimeSeconds: 24 * 3600, clockSkewSeconds: 1800, now: () => time },
    );
    time = EPOCH + 745 * HOUR - 1;
    expect(schedule.keySet().find("old")).toBeDefined();
    time = EPOCH + 745 * HOUR;
    expect(schedule.keySet().find("old")).toBeUndefined();
  });
});

function describeKeys(keys: ReturnType<RotationSchedule["keySet"]>) {
  return keys.keys.map(({ keyId, role }) => `${keyId} ${role}`);
}
