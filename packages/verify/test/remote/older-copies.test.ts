import { describe, expect, it } from "vitest";
import { isMadeBefore } from "../../src/http/freshness.ts";
import { testKey } from "../support/keys.ts";
import { eventually, LONG_CACHE, origin, ROTATION_CACHE, setup } from "../support/remote.ts";

// A cache on the way may hold a copy that is older than the set that is stored here. The newer set stays.

const a = testKey("a");
const b = testKey("b");
const c = testKey("c");

const fiftyMinutes = { age: "3000", date: new Date(Date.now() - 3_000_000).toUTCString() };

describe("an older copy", () => {
  it("does not replace a newer set after a forced refetch, and is counted", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(1);
    server.answerWith(origin([b], { ...LONG_CACHE, ...fiftyMinutes }));
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    await verify(a.token());
    expect(count()).toBe(2);
    expect(keySet.stats()).toMatchObject({ updated: 1, older: 1, failed: 0, ageSeconds: 1, freshForSeconds: 3599 });
  });

  it("does not replace a newer set by refresh", async () => {
    const { keySet, verify, server } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    server.answerWith(origin([a, b], { ...LONG_CACHE, ...fiftyMinutes }));
    await keySet.refresh();
    expect(keySet.stats()).toMatchObject({ updated: 1, older: 1, keys: 1 });
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("for an ordinary request causes a request that bypasses the caches", async () => {
    const { keySet, verify, server, clock, last } = await setup(origin([a, b], ROTATION_CACHE));
    await verify(b.token());
    clock.advanceSeconds(301);
    server.answerWith((request) =>
      request.headers["cache-control"] === "no-cache"
        ? origin([a], ROTATION_CACHE)(request)
        : origin([a, b, c], { ...LONG_CACHE, ...fiftyMinutes })(request),
    );
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    await verify(a.token());
    expect(last().headers).toMatchObject({ "cache-control": "no-cache" });
    expect(keySet.stats()).toMatchObject({ updated: 3, older: 0 });
  });

  it("gives the newer set no freshness: it is refused when its own is over", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    server.answerWith(origin([a, b], { "cache-control": "max-age=86400", ...fiftyMinutes }));
    clock.advanceSeconds(200);
    await keySet.refresh();
    clock.advanceSeconds(99);
    await verify(a.token());
    expect(count()).toBe(2);
    clock.advanceSeconds(1);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "fetch_failed" });
    await expect(verify(a.token())).rejects.toMatchObject({ code: "fetch_failed", retryAfterMs: 5000 });
    // One more, and one past the caches.
    expect(count()).toBe(4);
    expect(keySet.stats()).toMatchObject({ older: 2, failed: 0 });
  });

  it("with the same bytes is not older: a stale set continues with its headers", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith((request) => {
      const { "if-none-match": _etag, ...headers } = request.headers;
      return origin([a], { "cache-control": "max-age=3600", age: "3000" })({ ...request, headers });
    });
    await verify(a.token());
    expect(count()).toBe(2);
    expect(keySet.stats()).toMatchObject({ updated: 2, older: 0, freshForSeconds: 600 });
    // Another set that was made after that copy, and before the stored one, is older all the same.
    server.answerWith(origin([b], { "cache-control": "max-age=3600", age: "1000" }));
    await keySet.refresh();
    expect(keySet.stats()).toMatchObject({ older: 1 });
  });

  it("does not loop inside stale-while-revalidate", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(3601);
    server.answerWith(origin([b], { ...LONG_CACHE, age: "5000" }));
    await verify(a.token());
    await eventually(() => keySet.stats().older === 1);
    for (let index = 0; index < 10; index += 1) await verify(a.token());
    expect(count()).toBe(3);
  });

  it("is used if no set is stored", async () => {
    const { verify } = await setup(origin([a], { "cache-control": "max-age=86400", ...fiftyMinutes }));
    await verify(a.token());
  });

  it("is the newer one if it was made later than the stored copy", async () => {
    const { keySet, verify, server, clock } = await setup(origin([a], { ...LONG_CACHE, age: "3000" }));
    await verify(a.token());
    clock.advanceSeconds(60);
    server.answerWith(origin([b], { ...LONG_CACHE, age: "3059" }));
    await keySet.refresh();
    await verify(b.token());
    expect(keySet.stats()).toMatchObject({ updated: 2, older: 0 });
  });
});

describe("is never seen in", () => {
  it("Date alone: a replica whose clock is behind may have the newer set", async () => {
    const { keySet, verify, server } = await setup(origin([a, b], LONG_CACHE));
    await verify(b.token());
    server.answerWith(origin([a], { ...LONG_CACHE, date: fiftyMinutes.date }));
    await keySet.refresh();
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    expect(keySet.stats()).toMatchObject({ older: 0 });
  });

  it("the time that passed while the machine slept", async () => {
    const { keySet, verify, server, clock } = await setup(origin([a, b], ROTATION_CACHE));
    await verify(b.token());
    clock.moveWallSeconds(3600);
    server.answerWith(origin([a], { "cache-control": "max-age=86400", ...fiftyMinutes }));
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    expect(keySet.stats()).toMatchObject({ updated: 3, older: 0, forced: 1 });
  });

  it("a 304: its set is the stored one, which stays as new as it is", async () => {
    const { keySet, verify, server, clock } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith(origin([a], { "cache-control": "max-age=3600", age: "3000" }));
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ notModified: 1, older: 0, freshForSeconds: 600 });
    // Made after the copy of the 304, and before the stored set.
    server.answerWith(origin([b], { "cache-control": "max-age=3600", age: "1000" }));
    await keySet.refresh();
    expect(keySet.stats()).toMatchObject({ older: 1 });
    await verify(a.token());
  });
});

it.each<[string, number, number, number, boolean]>([
  ["as old as the other one", 100_000, 100_000, 100_000, false],
  ["older by the rounding of Age", 100_000, 100_000, 101_000, false],
  ["older by more", 100_000, 100_000, 102_000, true],
  ["older by one clock alone, which stood still", 50, 100_000, 99_000, false],
  ["older by one clock alone, which was set back", 100_000, -3_600_000, 99_000, false],
])("a copy that is %s", (_name, monotonicMs, wallMs, ageMs, older) => {
  const stored = { receivedAt: { monotonic: 0, wall: 0 }, ageMs: 0, ageIsStated: false };
  const copy = { receivedAt: { monotonic: monotonicMs, wall: wallMs }, ageMs };
  expect(isMadeBefore({ ...copy, ageIsStated: true }, stored)).toBe(older);
  expect(isMadeBefore({ ...copy, ageIsStated: false }, stored)).toBe(false);
});
