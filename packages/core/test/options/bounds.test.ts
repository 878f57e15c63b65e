import { describe, expect, test } from "vitest";
import {
  clientAuthentication,
  createJwksEndpoint,
  createLimiter,
  createRotationSchedule,
  guardSigner,
} from "@signpost/core";
import { createSigner, openingBounds } from "@signpost/core/adapter";
import { goldenSet, GOLDEN_JWK, newP256Jwk, publishingSigner, thrownBy } from "../support/key-fixtures.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TIMER_MS = 2_147_483_647;
const activeNow = { keyId: "a", signer: publishingSigner(), activeFrom: new Date(0), announcedFrom: new Date(0) };

const limiter = (options: object) => createLimiter({ concurrency: 1, maxQueue: 1, ...options });
const rate = (options: object) =>
  createLimiter({ rate: { permits: 1_000_000, perSeconds: 1, burst: 1, ...options }, maxQueue: 1 });
const guard = (policy: object) => guardSigner(publishingSigner(), policy);
const schedule = (options: object) => createRotationSchedule([activeNow], { maxTokenLifetimeSeconds: 60, ...options });
const endpoint = (options: object) =>
  createJwksEndpoint({ issuer: "https://op.example", keys: goldenSet(), ...options });
const signer = (options: object) =>
  createSigner({
    uri: "test:key",
    publicKey: GOLDEN_JWK,
    signDigest: async () => new Uint8Array(64),
    close: async () => {},
    ...options,
  });

interface Row {
  readonly argument: string;
  readonly least: number;
  readonly most: number;
  /** The step to the next value that is out of bounds. */
  readonly step?: number;
  readonly make: (value: number) => unknown;
}

/** Every numeric option of core, by the name in its error. */
const ROWS: readonly Row[] = [
  { argument: "concurrency", least: 1, most: 10_000, make: (concurrency) => limiter({ concurrency }) },
  { argument: "maxQueue", least: 0, most: 1_000_000, make: (maxQueue) => limiter({ maxQueue }) },
  { argument: "rate.permits", least: 1, most: 1_000_000, make: (permits) => rate({ permits }) },
  { argument: "rate.perSeconds", least: 1, most: 86_400, make: (perSeconds) => rate({ perSeconds }) },
  { argument: "rate.burst", least: 1, most: 20, make: (burst) => rate({ permits: 20, burst }) },
  { argument: "policy.deadlineMs", least: 1, most: TIMER_MS, make: (deadlineMs) => guard({ deadlineMs }) },
  {
    argument: "policy.attemptTimeoutMs",
    least: 1,
    most: TIMER_MS,
    make: (attemptTimeoutMs) => guard({ attemptTimeoutMs }),
  },
  { argument: "policy.maxAttempts", least: 1, most: 100, make: (maxAttempts) => guard({ maxAttempts }) },
  { argument: "concurrency", least: 1, most: 10_000, make: (concurrency) => guard({ concurrency }) },
  { argument: "maxQueue", least: 0, most: 1_000_000, make: (maxQueue) => guard({ maxQueue }) },
  // A hedge must start before its attempt is over.
  { argument: "policy.hedgeAfterMs", least: 1, most: 1999, make: (hedgeAfterMs) => guard({ hedgeAfterMs }) },
  { argument: "callTimeoutMs", least: 1, most: TIMER_MS, make: (callTimeoutMs) => signer({ callTimeoutMs }) },
  { argument: "openDeadlineMs", least: 1, most: TIMER_MS, make: (openDeadlineMs) => openingBounds({ openDeadlineMs }) },
  {
    argument: "maxTokenLifetimeSeconds",
    least: 1,
    most: 315_360_000,
    make: (maxTokenLifetimeSeconds) => schedule({ maxTokenLifetimeSeconds }),
  },
  { argument: "announceHours", least: 4, most: 8784, step: 0.01, make: (announceHours) => schedule({ announceHours }) },
  {
    argument: "announceHours",
    least: 2,
    most: 8784,
    step: 0.01,
    make: (announceHours) => schedule({ announceHours, sharedCaches: false }),
  },
  {
    argument: "rotationWindowHours",
    least: 0,
    most: 8784,
    step: 0.01,
    make: (rotationWindowHours) => schedule({ rotationWindowHours }),
  },
  {
    argument: "hintAcceptanceHours",
    least: 0,
    most: 87_840,
    step: 0.01,
    make: (hintAcceptanceHours) => schedule({ hintAcceptanceHours }),
  },
  { argument: "clockSkewSeconds", least: 0, most: 3600, make: (clockSkewSeconds) => schedule({ clockSkewSeconds }) },
  {
    argument: "certificateNoticeDays",
    least: 0,
    most: 365,
    step: 0.01,
    make: (certificateNoticeDays) => endpoint({ certificateNoticeDays }),
  },
  {
    argument: "lifetimeSeconds",
    least: 1,
    most: 300,
    make: (lifetimeSeconds) => clientAuthentication(goldenSet(), { lifetimeSeconds }),
  },
];

describe.each(ROWS)("$argument from $least to $most", ({ argument, least, most, step = 1, make }) => {
  test.each([least, most])("takes the bound %d", (value) => {
    expect(() => make(value)).not.toThrow();
  });

  test.each([least - step, most + step, Number.NaN, Number.POSITIVE_INFINITY])("refuses %d and names it", (value) => {
    expect(thrownBy(() => make(value))).toMatchObject({ name: "ConfigurationError", argument });
  });
});

describe("an option that is left out has its default", () => {
  test("a guard's: 5 s in all, 2 s and three attempts, and none without a guard has less time", () => {
    expect(openingBounds({})).toMatchObject({ deadlineMs: 5000, attemptTimeoutMs: 2000, maxAttempts: 3 });
    expect(openingBounds({ policy: false })).toMatchObject({
      deadlineMs: 5000,
      attemptTimeoutMs: 5000,
      maxAttempts: 3,
    });
  });

  test("a schedule's: announced for 4 h and the skew of a minute, 24 h of short caching, hints for 14 days", () => {
    let time = 0;
    const activeAt = 100 * HOUR_MS;
    const plan = (announcedMs: number) =>
      createRotationSchedule(
        [
          { ...activeNow, keyId: "a" },
          {
            keyId: "b",
            signer: publishingSigner(newP256Jwk()),
            announcedFrom: new Date(announcedMs),
            activeFrom: new Date(activeAt),
          },
        ],
        { maxTokenLifetimeSeconds: 60, now: () => time },
      );
    const latest = activeAt - 4 * HOUR_MS - 60_000;
    expect(thrownBy(() => plan(latest + 1))).toMatchObject({ argument: "entries[1].activeFrom" });
    const schedule = plan(latest);
    const at = (ms: number) => {
      time = ms;
      return {
        keys: schedule.keySet().keys.map(({ keyId }) => keyId),
        short: schedule.jwksRotationActive(),
        withdrawn: schedule.withdrawn().map(({ keyId }) => keyId),
      };
    };
    expect(at(activeAt)).toEqual({ keys: ["b", "a"], short: true, withdrawn: [] });
    // A token's lifetime and twice the skew later, the old key is withdrawn.
    expect(at(activeAt + 180_000 - 1).keys).toEqual(["b", "a"]);
    expect(at(activeAt + 180_000)).toEqual({ keys: ["b"], short: true, withdrawn: ["a"] });
    expect(at(activeAt + DAY_MS - 1).short).toBe(true);
    expect(at(activeAt + DAY_MS).short).toBe(false);
    expect(at(activeAt + 180_000 + 14 * DAY_MS - 1).withdrawn).toEqual(["a"]);
    expect(at(activeAt + 180_000 + 14 * DAY_MS).withdrawn).toEqual([]);
  });
});
