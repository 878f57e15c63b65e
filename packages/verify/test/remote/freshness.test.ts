import { describe, expect, it } from "vitest";
import { testKey } from "../support/keys.ts";
import { LONG_CACHE, origin, ROTATION_CACHE, setup } from "../support/remote.ts";

// Rule 1: fetched on first use, fresh as long as its headers say.

const a = testKey("a");

describe("the first fetch", () => {
  it("is made on first use, by a plain GET", async () => {
    const { keySet, verify, count, last } = await setup(origin([a], LONG_CACHE));
    expect(count()).toBe(0);
    await verify(a.token());
    expect(count()).toBe(1);
    expect(last()).toMatchObject({
      method: "GET",
      headers: { accept: expect.stringMatching(/^application\/jwk-set\+json/) },
    });
    expect(last().headers["if-none-match"]).toBeUndefined();
    expect(keySet.stats()).toMatchObject({ requests: 1, updated: 1, keys: 1 });
  });

  it("can be made before by preload, once", async () => {
    const { keySet, verify, count } = await setup(origin([a], LONG_CACHE));
    await Promise.all([keySet.preload(), keySet.preload()]);
    await keySet.preload();
    await verify(a.token());
    expect(count()).toBe(1);
  });

  it("is shared by everybody who needs it", async () => {
    const { verify, count } = await setup(origin([a], LONG_CACHE));
    await Promise.all(Array.from({ length: 50 }, async () => verify(a.token())));
    expect(count()).toBe(1);
  });
});

describe("how long a set is used without asking", () => {
  const day = 86_400;
  const date = new Date().toUTCString();
  const at = (seconds: number): string => new Date(Date.parse(date) + seconds * 1000).toUTCString();
  it.each<[string, Record<string, string | string[]>, number]>([
    ["the long mode of our endpoint", LONG_CACHE, 3600],
    ["the rotation mode of our endpoint", ROTATION_CACHE, 300],
    ["max-age less Age", { "cache-control": "max-age=600", age: "400" }, 200],
    ["a negative Age counts as none", { "cache-control": "max-age=600", age: "-400" }, 600],
    ["Age that is not a number counts as none", { "cache-control": "max-age=600", age: "soon" }, 600],
    ["Expires less Date", { date, expires: at(450) }, 450],
    ["the same with spaces after both", { date: `${date} `, expires: `${at(450)}\t ` }, 450],
    ["max-age before Expires", { "cache-control": "max-age=60", date, expires: at(450) }, 60],
    ["s-maxage is for shared caches", { "cache-control": "s-maxage=9000, max-age=60" }, 60],
    ["private is stored here", { "cache-control": "private, max-age=60" }, 60],
    ["directive names in any case", { "cache-control": "Public, MAX-AGE=60" }, 60],
    ["the same header twice", { "cache-control": ["public, max-age=60", "public, max-age=60"] }, 60],
    ["quoted values", { "cache-control": 'max-age="60"' }, 60],
    ["immutable adds nothing", { "cache-control": "max-age=60, immutable" }, 60],
    ["immutable without a lifetime", { "cache-control": "public, immutable" }, 300],
    ["no headers at all", {}, 300],
    ["no lifetime in Cache-Control", { "cache-control": "public" }, 300],
    ["Last-Modified does not set a lifetime", { "last-modified": at(-30 * day) }, 300],
    ["at most a day", { "cache-control": "max-age=31536000" }, day],
    ["at most a day more, however old it is", { "cache-control": "max-age=604800", age: "100000" }, day],
    ["what a long lifetime leaves", { "cache-control": "max-age=604800", age: "604000" }, 800],
    ["an old answer that states no lifetime", { age: "100000" }, 300],
    ["Expires less Date less Age", { date, expires: at(7 * day), age: "100000" }, day],
    ["a lifetime beyond 2^31", { "cache-control": "max-age=99999999999999999999" }, day],
  ])("%s", async (_name, headers, seconds) => {
    const { verify, clock, count } = await setup(origin([a], headers), { staleWhileRevalidate: false });
    await verify(a.token());
    clock.advanceSeconds(seconds - 1);
    await verify(a.token());
    expect(count()).toBe(1);
    clock.advanceSeconds(2);
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("counts the time that the answer took", async () => {
    const { verify, server, clock, count } = await setup(origin([a], { "cache-control": "max-age=60" }));
    const answer = origin([a], { "cache-control": "max-age=60" });
    server.answerWith((request) => {
      clock.advanceSeconds(50);
      return answer(request);
    });
    await verify(a.token());
    clock.advanceSeconds(9);
    await verify(a.token());
    expect(count()).toBe(1);
    clock.advanceSeconds(2);
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("does not follow the server's clock", async () => {
    const before = new Date(Date.now() - 86_400_000).toUTCString();
    const { verify, count } = await setup(origin([a], { ...LONG_CACHE, date: before }));
    await verify(a.token());
    await verify(a.token());
    expect(count()).toBe(1);
  });
});

describe("answers that are stale on arrival", () => {
  it.each([
    ["max-age=0"],
    ["no-cache"],
    ["no-store"],
    ["no-cache, max-age=0, must-revalidate"],
    ['no-cache="set-cookie"'],
    ["max-age=nonsense"],
    ["max-age=60, max-age=3600"],
    ["max-age=-5"],
    ["max-age=60.5"],
  ])("%s is asked again after ten seconds, not before", async (cacheControl) => {
    const { keySet, verify, clock, count, last } = await setup(origin([a], { "cache-control": cacheControl }));
    await verify(a.token());
    for (let second = 0; second < 9; second += 1) {
      clock.advanceSeconds(1);
      await verify(a.token());
    }
    expect(count()).toBe(1);
    clock.advanceSeconds(2);
    await verify(a.token());
    expect(count()).toBe(2);
    expect(last().headers["if-none-match"]).toMatch(/^"[0-9a-f]{64}"$/);
    expect(keySet.stats()).toMatchObject({ notModified: 1 });
  });

  it.each<[string, Record<string, string | string[]>]>([
    ["Vary with * in a line of many", { ...LONG_CACHE, vary: ["accept-encoding", "*"] }],
    ["Vary with * in a list", { ...LONG_CACHE, vary: "accept-encoding, *" }],
    ["Vary without a lifetime", { vary: "*, accept-encoding" }],
    ["Expires in another zone", { expires: "Thu, 18 Aug 2050 02:01:18 UTC" }],
  ])("%s is asked again after ten seconds, not before, and waited for", async (_name, headers) => {
    const { verify, clock, count, server } = await setup(origin([a], headers));
    await verify(a.token());
    clock.advanceSeconds(9);
    await verify(a.token());
    expect(count()).toBe(1);
    clock.advanceSeconds(2);
    server.answerWith(() => ({ status: 503 }));
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
    expect(count()).toBe(2);
  });

  it("an Age beyond the lifetime does not cause a loop", async () => {
    const { verify, clock, count } = await setup(origin([a], { "cache-control": "max-age=60", age: "90" }));
    await verify(a.token());
    clock.advanceSeconds(5);
    await verify(a.token());
    expect(count()).toBe(1);
  });

  it("pragma: no-cache counts if there is no Cache-Control", async () => {
    const { verify, clock, count } = await setup(origin([a], { pragma: "no-cache" }));
    await verify(a.token());
    clock.advanceSeconds(11);
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("are requested on every use if the interval is 0", async () => {
    const { verify, clock, count } = await setup(origin([a], { "cache-control": "no-cache" }), {
      minRevalidateIntervalMs: 0,
    });
    await verify(a.token());
    clock.advanceSeconds(0.001);
    await verify(a.token());
    clock.advanceSeconds(0.001);
    await verify(a.token());
    expect(count()).toBe(3);
  });
});
