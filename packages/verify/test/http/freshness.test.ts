import { describe, expect, it } from "vitest";
import { freshnessOf, headersAfter304 } from "../../src/http/freshness.ts";

const rules = {
  defaultMaxAgeSeconds: 300,
  maxAgeCapSeconds: 86_400,
  minRevalidateIntervalMs: 10_000,
  staleWhileRevalidate: true,
  staleIfErrorSeconds: 0,
};
const wallClock = Date.parse("2026-11-27T12:00:00Z");
const times = { requestedAt: 1000, receivedAt: 1000, wallClock };

describe("instants on the monotonic clock", () => {
  it("Expires without Date counts from the wall clock, not from the monotonic one", async () => {
    const headers = { expires: new Date(wallClock + 450_000).toUTCString() };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshUntil: 451_000 });
  });

  it.each([["0"], ["-1"], ["yesterday"], [new Date(wallClock - 1000).toUTCString()]])(
    "Expires: %s is stale",
    async (expires) => {
      expect(await freshnessOf({ expires }, times, rules)).toMatchObject({ freshUntil: 11_000 });
    },
  );

  it("immutable is no reason to go past Expires", async () => {
    const headers = { "cache-control": "immutable", expires: new Date(wallClock + 60_000).toUTCString() };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshUntil: 61_000 });
  });

  it("stale windows start where freshness ends, and are capped too", async () => {
    const headers = { "cache-control": "max-age=60, stale-while-revalidate=30, stale-if-error=999999999" };
    expect(await freshnessOf(headers, times, rules)).toEqual({
      freshUntil: 61_000,
      staleWhileRevalidateUntil: 91_000,
      staleIfErrorUntil: 61_000 + 86_400_000,
      madeAt: 1000,
    });
  });

  it("Age moves all of them", async () => {
    const headers = { "cache-control": "max-age=60, stale-while-revalidate=30", age: "20" };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({
      freshUntil: 41_000,
      staleWhileRevalidateUntil: 71_000,
      madeAt: -19_000,
    });
  });

  it.each([
    ["50, 5", 50],
    [" 50 , x", 50],
    ["x, 50", 0],
    ["-50", 0],
    ["5e1", 0],
  ])("of Age: %s counts the first, where it is whole seconds", async (age, seconds) => {
    const headers = { "cache-control": "max-age=60", age };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshUntil: 61_000 - seconds * 1000 });
  });

  it("must-revalidate leaves no stale window but the caller's own", async () => {
    const headers = { "cache-control": "max-age=60, must-revalidate, stale-while-revalidate=30, stale-if-error=30" };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({
      staleWhileRevalidateUntil: 61_000,
      staleIfErrorUntil: 61_000,
    });
    expect(await freshnessOf(headers, times, { ...rules, staleIfErrorSeconds: 7 })).toMatchObject({
      staleWhileRevalidateUntil: 61_000,
      staleIfErrorUntil: 68_000,
    });
  });
});

describe("stored headers after a 304", () => {
  it("take what it carries and keep the rest, but never an old Age or Date", () => {
    const stored = {
      etag: '"1"',
      "cache-control": "max-age=60",
      age: "5",
      date: "then",
      vary: "accept",
      "content-type": "application/json",
    };
    const notModified = { "cache-control": "max-age=30", "content-type": "text/plain", date: "now" };
    expect(headersAfter304(stored, notModified)).toEqual({
      etag: '"1"',
      "cache-control": "max-age=30",
      vary: "accept",
      "content-type": "application/json",
      date: "now",
    });
  });
});
