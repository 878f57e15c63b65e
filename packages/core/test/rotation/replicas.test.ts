import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ScheduledEntry, serializeJwks } from "@signpost/core";
import { EPOCH, scheduleOf, someSigner } from "../support/schedules.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const signers = Array.from({ length: 4 }, someSigner);

interface Plan {
  readonly entries: readonly ScheduledEntry[];
  readonly announceHours: number;
  readonly maxTokenLifetimeSeconds: number;
  readonly clockSkewSeconds: number;
}

/** Legal schedules of up to four keys, the tightest ones included: activated as early as the rules allow. */
const plans: fc.Arbitrary<Plan> = fc
  .record({
    announceHours: fc.integer({ min: 4, max: 12 }),
    maxTokenLifetimeSeconds: fc.integer({ min: 1, max: 86_400 }),
    clockSkewSeconds: fc.integer({ min: 0, max: 3600 }),
    steps: fc.array(
      fc.record({ gap: fc.integer({ min: 1, max: 100 * 3600 }), slack: fc.constantFrom(0, 1, 3600, 86_400) }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ steps, ...lengths }) => {
    const lead = lengths.announceHours * HOUR + lengths.clockSkewSeconds * SECOND;
    let activeFrom = EPOCH;
    const entries = signers.slice(0, steps.length + 1).map((signer, index): ScheduledEntry => {
      const step = steps[index - 1];
      if (step === undefined) return { signer, announcedFrom: new Date(EPOCH), activeFrom: new Date(EPOCH) };
      activeFrom += step.gap * SECOND;
      const announcedFrom = activeFrom - lead - step.slack * SECOND;
      return { signer, announcedFrom: new Date(announcedFrom), activeFrom: new Date(activeFrom) };
    });
    return { entries, ...lengths };
  });

function at(plan: Plan, time: number) {
  return scheduleOf(plan, () => time);
}

/** A moment of a plan: anywhere, or a millisecond from an activation, where a mistake would show. */
const moments = fc.oneof(fc.record({ ms: fc.integer({ min: 0, max: 500 * HOUR }) }), {
  weight: 3,
  arbitrary: fc.record({ activation: fc.nat({ max: 5 }), offset: fc.constantFrom(-1, -1, 0, 1) }),
});

function momentOf(plan: Plan, moment: { ms: number } | { activation: number; offset: number }): number {
  if ("ms" in moment) return EPOCH + moment.ms;
  const [first, ...later] = plan.entries;
  const { activeFrom } = later[moment.activation % later.length] ?? first ?? { activeFrom: EPOCH };
  return Math.max(EPOCH, Number(activeFrom) + moment.offset);
}

/** Part of a whole, its end preferred. */
const part = fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true }));
/** By which part of the skew another clock differs. */
const apart = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(-1, 1) }, fc.double({ min: -1, max: 1, noNaN: true }));

/** Less than the skew, if only by a millisecond. */
function offsetOf(plan: Plan, clock: number): number {
  return Math.trunc(clock * Math.max(0, plan.clockSkewSeconds * SECOND - 1));
}

describe("replicas with the same schedule and clocks apart by less than the skew", () => {
  test("publish the key of every token that any of them signs until no verifier accepts it, with the skew as leeway", () => {
    fc.assert(
      fc.property(plans, moments, apart, part, part, (plan, moment, clock, age, leeway) => {
        const signedAt = momentOf(plan, moment);
        const { keyId } = at(plan, signedAt).keySet().active;
        const lifetime = age * plan.maxTokenLifetimeSeconds + leeway * plan.clockSkewSeconds;
        const verifiedAt = signedAt + Math.trunc(lifetime * SECOND);
        const theirs = Math.max(EPOCH, verifiedAt + offsetOf(plan, clock));
        expect(at(plan, theirs).keySet().find(keyId)).toBeDefined();
      }),
      { numRuns: 400 },
    );
  });

  test("have published the key of every token for as long as caches may serve an older set", () => {
    fc.assert(
      fc.property(plans, moments, apart, (plan, moment, clock) => {
        const signedAt = momentOf(plan, moment);
        const { keyId } = at(plan, signedAt).keySet().active;
        const fetchedAt = signedAt - plan.announceHours * HOUR + offsetOf(plan, clock);
        // Before the first key there was no set to fetch.
        fc.pre(fetchedAt >= EPOCH);
        expect(at(plan, fetchedAt).keySet().find(keyId)).toBeDefined();
      }),
      { numRuns: 400 },
    );
  });

  test("publish byte-identical documents at the same time, whatever the order of the entries", () => {
    fc.assert(
      fc.property(plans, moments, (plan, moment) => {
        const time = momentOf(plan, moment);
        const document = serializeJwks(at(plan, time).keySet());
        expect(serializeJwks(at({ ...plan, entries: plan.entries.toReversed() }, time).keySet())).toEqual(document);
      }),
      { numRuns: 150 },
    );
  });

  test("cache shortly from each announcement until the window after its activation has passed", () => {
    fc.assert(
      fc.property(plans, moments, (plan, moment) => {
        const time = momentOf(plan, moment);
        const expected = plan.entries
          .slice(1)
          .some((entry) => time >= Number(entry.announcedFrom) && time < Number(entry.activeFrom) + 24 * HOUR);
        expect(at(plan, time).jwksRotationActive()).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });
});
