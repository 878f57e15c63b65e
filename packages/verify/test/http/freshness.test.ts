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
const receivedAt = { monotonic: 1000, wall: wallClock, date: wallClock };
const times = { requestedAt: receivedAt, receivedAt };

describe("times from the receipt on", () => {
  it("Expires without Date counts from the wall clock", async () => {
    const headers = { expires: new Date(wallClock + 450_000).toUTCString() };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshForMs: 450_000 });
  });

  it.each([["0"], ["-1"], ["yesterday"], [new Date(wallClock - 1000).toUTCString()]])(
    "Expires: %s is stale",
    async (expires) => {
      expect(await freshnessOf({ expires }, times, rules)).toMatchObject({ freshForMs: 10_000 });
    },
  );

  it.each([
    ["Thursday, 18-Aug-50 02:01:18 GMT"],
    ["Thu Aug 18 02:01:18 2050"],
    ["Thu, 18 Aug 2050 02:01:18 GMT"],
    ["Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT"],
  ])("Expires: %s is a day at most", async (expires) => {
    expect(await freshnessOf({ expires }, times, rules)).toMatchObject({ freshForMs: 86_400_000 });
  });

  it.each([
    ["Thu, 18 Aug 2050 02:01:18 UTC"],
    ["Thu 18 Aug 2050 02:01:18 GMT"],
    ["Fri, 18 Aug 2050 02:01:18 GMT"],
    ["Thu, 18 Aug 2050 02:01:18 GMT, Fri, 19 Aug 2050 02:01:18 GMT"],
    ["2050-08-18T02:01:18Z"],
    ["2147483647"],
    [""],
    // 1994, by the rule of 50 years.
    ["Sunday, 06-Nov-94 08:49:37 GMT"],
    // What .NET writes for no date.
    ["Mon, 01 Jan 0001 00:00:00 GMT"],
  ])("Expires: %s is over", async (expires) => {
    expect(await freshnessOf({ expires }, times, rules)).toMatchObject({ freshForMs: 10_000 });
  });

  it.each([
    ["that is none", "Fri, 27 Nov 2026 12:00:00 UTC", 60_000],
    ["that is empty", "", 60_000],
    ["a minute back", "Fri, 27 Nov 2026 11:59:00 GMT", 120_000],
    ["in the form of RFC 850", "Friday, 27-Nov-26 11:59:00 GMT", 120_000],
    ["twice the same", "Fri, 27 Nov 2026 11:59:00 GMT, Fri, 27 Nov 2026 11:59:00 GMT", 120_000],
  ])("Expires counts from a Date %s, or from the receipt", async (_name, date, freshForMs) => {
    const headers = { date, expires: new Date(wallClock + 60_000).toUTCString() };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshForMs });
  });

  it.each([
    ["*", "max-age=60, stale-while-revalidate=30, stale-if-error=30"],
    ["accept, *", "max-age=60, stale-while-revalidate=30, stale-if-error=30"],
    ["*,accept-encoding", "max-age=60, immutable"],
    ["origin, accept ,\t* ", ""],
    ["*, *", "stale-while-revalidate=30"],
  ])("Vary: %s with Cache-Control: %s matches no request", async (vary, cacheControl) => {
    const headers = { vary, ...(cacheControl === "" ? {} : { "cache-control": cacheControl }) };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({
      freshForMs: 10_000,
      staleWhileRevalidateForMs: expect.toSatisfy((ms: number) => ms <= 0),
      staleIfErrorForMs: 10_000,
    });
  });

  it("Vary by a header that is the same in each request causes no request", async () => {
    const headers = { vary: "accept, accept-encoding, x-*", "cache-control": "max-age=60" };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshForMs: 60_000 });
  });

  it.each([["0"], ["-1"], ["soon"], ["Mon, 01 Jan 0001 00:00:00 GMT"]])(
    "Expires: %s is over for a server whose clock never ran, too",
    async (expires) => {
      const headers = { expires, date: "Thu, 01 Jan 1970 00:00:12 GMT" };
      expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshForMs: 10_000 });
    },
  );

  it.each([["no-cache"], ["No-Cache"]])("Pragma: %s counts without Cache-Control alone", async (pragma) => {
    expect(await freshnessOf({ pragma }, times, rules)).toMatchObject({ freshForMs: 10_000 });
    const headers = { pragma, "cache-control": "max-age=60" };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshForMs: 60_000 });
  });

  it("immutable does not extend Expires", async () => {
    const headers = { "cache-control": "immutable", expires: new Date(wallClock + 60_000).toUTCString() };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshForMs: 60_000 });
  });

  it("stale windows start where freshness ends, and are capped too", async () => {
    const headers = { "cache-control": "max-age=60, stale-while-revalidate=30, stale-if-error=999999999" };
    expect(await freshnessOf(headers, times, rules)).toEqual({
      receivedAt,
      ageMs: 0,
      ageIsStated: false,
      freshForMs: 60_000,
      staleWhileRevalidateForMs: 90_000,
      staleIfErrorForMs: 60_000 + 86_400_000,
    });
  });

  it("Age moves all of them", async () => {
    const headers = { "cache-control": "max-age=60, stale-while-revalidate=30", age: "20" };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({
      ageMs: 20_000,
      freshForMs: 40_000,
      staleWhileRevalidateForMs: 70_000,
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
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshForMs: 60_000 - seconds * 1000 });
  });

  it.each([
    ["both clocks", 20_000, 20_000, 20_000],
    ["the wall clock, while the other stood still", 50, 20_000, 20_000],
    ["the monotonic clock, if the other was set back", 20_000, -3_600_000, 20_000],
  ])("the time from the request counts by %s", async (_name, monotonicMs, wallMs, ageMs) => {
    const requestedAt = { monotonic: 1000 - monotonicMs, wall: wallClock - wallMs };
    const headers = { "cache-control": "max-age=60" };
    expect(await freshnessOf(headers, { requestedAt, receivedAt }, rules)).toMatchObject({
      ageMs,
      freshForMs: 60_000 - ageMs,
    });
  });

  it.each([
    ["more than the cap is left of an old answer", "max-age=604800", "100000", 86_400_000],
    ["less than the cap is left", "max-age=604800", "604000", 800_000],
    ["no lifetime is stated: ours begins with the receipt", "public", "100000", 300_000],
  ])("%s", async (_name, cacheControl, age, freshForMs) => {
    const headers = { "cache-control": cacheControl, age };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({ freshForMs });
  });

  // An answer that is just stale on arrival is kept for the pause between requests, and one that is just fresh for its rest.
  it.each([
    [1, 1],
    [0, 10_000],
    [-1, 10_000],
  ])("with %d ms left of its lifetime is used for %d ms", async (leftMs, freshForMs) => {
    const agoMs = 60_000 - leftMs;
    const requestedAt = { monotonic: 1000 - agoMs, wall: wallClock - agoMs };
    const headers = { "cache-control": "max-age=60, stale-while-revalidate=30" };
    expect(await freshnessOf(headers, { requestedAt, receivedAt }, rules)).toMatchObject({
      freshForMs,
      staleWhileRevalidateForMs: leftMs + 30_000,
    });
  });

  it("must-revalidate leaves no stale window but the caller's own", async () => {
    const headers = { "cache-control": "max-age=60, must-revalidate, stale-while-revalidate=30, stale-if-error=30" };
    expect(await freshnessOf(headers, times, rules)).toMatchObject({
      staleWhileRevalidateForMs: 60_000,
      staleIfErrorForMs: 60_000,
    });
    expect(await freshnessOf(headers, times, { ...rules, staleIfErrorSeconds: 7 })).toMatchObject({
      staleWhileRevalidateForMs: 60_000,
      staleIfErrorForMs: 67_000,
    });
  });
});

describe("stored headers after a 304", () => {
  it("take its headers and keep the rest, but never an old Age or Date", () => {
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
