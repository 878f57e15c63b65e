import { createRemoteKeySet } from "@signpost/verify";
import { describe, expect, it } from "vitest";
import { testKey } from "../support/keys.ts";
import { eventually, fakeClock, LONG_CACHE, origin, ROTATION_CACHE, setup } from "../support/remote.ts";

// Trust ends when either clock says so: the monotonic one stands still while a machine sleeps, the other one may be set.

const a = testKey("a");
const b = testKey("b");

const day = 86_400;
const tenMinutes = 600;

describe("a process that runs 50 ms every ten minutes", () => {
  it("does not trust a key for longer than its headers say", async () => {
    const clock = fakeClock();
    let keys = [a, b];
    let requests = 0;
    const keySet = createRemoteKeySet("https://op.example/jwks", {
      clock,
      now: clock.now,
      fetch: async (_url, init) => {
        requests += 1;
        const answer = origin(keys, ROTATION_CACHE)({ method: init.method, headers: init.headers } as never);
        const {
          status = 200,
          headers,
          body = null,
        } = answer as { status?: number; headers: Record<string, string>; body?: string };
        return new Response(body, { status, headers });
      },
    });
    const outcomes: string[] = [];
    for (let seconds = 0; seconds < 7 * day; seconds += tenMinutes) {
      if (seconds >= 3600) keys = [a];
      outcomes.push(
        await keySet({ alg: "ES256", kid: "b" }).then(
          () => "accepted",
          (error: { code: string }) => error.code,
        ),
      );
      clock.advanceSeconds(0.05);
      clock.moveWallSeconds(tenMinutes - 0.05);
    }
    expect(outcomes.filter((outcome) => outcome === "accepted")).toHaveLength(6);
    expect(outcomes.filter((outcome) => outcome === "unknown_kid")).toHaveLength(1002);
    expect(requests).toBeGreaterThan(1000);
  });
});

describe("while the monotonic clock stands still and the wall clock is set back", () => {
  it.each([
    ["once, by a day", [-day, 0, 0]],
    ["each time, by more than what passes", [-700, -700, -700]],
    ["and forward before", [day, -day, -day]],
  ])("%s: a revoked key is not trusted for longer", async (_name, steps) => {
    const { verify, server, clock } = await setup(origin([a, b], ROTATION_CACHE));
    await verify(b.token());
    server.answerWith(origin([a], ROTATION_CACHE));
    const outcomes: string[] = [];
    for (const step of steps) {
      clock.moveWallSeconds(step);
      await verify(a.token());
      clock.moveWallSeconds(tenMinutes);
      outcomes.push(
        await verify(b.token()).then(
          () => "accepted",
          (error: { code: string }) => error.code,
        ),
      );
    }
    expect(outcomes).toEqual(["unknown_kid", "unknown_kid", "unknown_kid"]);
  });

  it("what was too old stays so while the server is down", async () => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    server.answerWith(() => ({ status: 503 }));
    clock.moveWallSeconds(7200);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
    clock.moveWallSeconds(-7200);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
  });
});

describe("while the monotonic clock stands still", () => {
  it("a set grows old", async () => {
    const { keySet, verify, server, clock } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    clock.moveWallSeconds(299);
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ requests: 1, ageSeconds: 299, freshForSeconds: 1 });
    server.answerWith(origin([b], ROTATION_CACHE));
    clock.moveWallSeconds(1);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("a request that was under way before is not waited for", async () => {
    const { verify, server, clock, count } = await setup(origin([a, b], LONG_CACHE));
    await verify(b.token());
    clock.advanceSeconds(3601);
    server.answerWith(() => ({ after: new Promise(() => {}) }));
    await verify(b.token());
    await eventually(() => count() === 2);
    clock.moveWallSeconds(9);
    await verify(b.token());
    expect(count()).toBe(2);
    clock.moveWallSeconds(7200);
    server.answerWith(origin([a], LONG_CACHE));
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    await verify(a.token());
  });

  it("stale-while-revalidate and stale-if-error end", async () => {
    const { verify, server, clock, keySet } = await setup(
      origin([a], { "cache-control": "max-age=60, stale-while-revalidate=60, stale-if-error=600" }),
    );
    await verify(a.token());
    server.answerWith(() => ({ status: 503 }));
    clock.moveWallSeconds(61);
    await verify(a.token());
    await eventually(() => keySet.stats().failed === 1);
    clock.moveWallSeconds(598);
    await verify(a.token());
    clock.moveWallSeconds(2);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
  });

  it("a set that is stale on arrival is requested again", async () => {
    const { verify, clock, count } = await setup(origin([a], { "cache-control": "no-cache" }));
    await verify(a.token());
    clock.moveWallSeconds(10);
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("the next forced refetch may be made", async () => {
    const { verify, clock, server } = await setup(origin([a], LONG_CACHE));
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    clock.moveWallSeconds(5);
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid", retryAfterMs: 15_000 });
    server.answerWith(origin([a, b], LONG_CACHE));
    clock.moveWallSeconds(15);
    await verify(b.token());
  });

  it.each([
    ["a failure", {}, 5],
    ["Retry-After", { "retry-after": "40" }, 40],
  ])("%s is forgotten", async (_name, headers, seconds) => {
    const { verify, clock, server, count } = await setup(() => ({ status: 503, headers }));
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
    server.answerWith(origin([a], LONG_CACHE));
    clock.moveWallSeconds(seconds - 1);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", retryAfterMs: 1000 });
    expect(count()).toBe(1);
    clock.moveWallSeconds(1);
    await verify(a.token());
  });
});

describe("if the wall clock is set back", () => {
  it("a set does not become younger", async () => {
    const { keySet, verify, server, clock } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    clock.moveWallSeconds(-day);
    clock.advanceSeconds(299);
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ requests: 1, ageSeconds: 299 });
    server.answerWith(origin([b], ROTATION_CACHE));
    clock.advanceSeconds(1);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("throttle and failures go by the other clock", async () => {
    const { verify, clock, server, count } = await setup(origin([a], LONG_CACHE));
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    clock.moveWallSeconds(-day);
    server.answerWith(() => ({ status: 503 }));
    clock.advanceSeconds(20);
    await expect(verify(b.token())).rejects.toMatchObject({ code: "http_status" });
    clock.moveWallSeconds(-day);
    server.answerWith(origin([a, b], LONG_CACHE));
    clock.advanceSeconds(20);
    await verify(b.token());
    expect(count()).toBe(4);
  });

  it("a throttle that both clocks have filled by turns goes on", async () => {
    const { verify, clock, keySet } = await setup(origin([a], LONG_CACHE), { forcedRefetchBurst: 3 });
    const unknown = async (): Promise<void> => expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    for (let index = 0; index < 4; index += 1) await unknown();
    expect(keySet.stats()).toMatchObject({ forced: 3, throttled: 1 });
    clock.moveWallSeconds(25);
    await unknown();
    expect(keySet.stats()).toMatchObject({ forced: 4, throttled: 1 });
    clock.moveWallSeconds(-day);
    clock.advanceSeconds(14);
    await unknown();
    expect(keySet.stats()).toMatchObject({ forced: 4, throttled: 2 });
    clock.advanceSeconds(6);
    await unknown();
    expect(keySet.stats()).toMatchObject({ forced: 5, throttled: 2 });
  });
});

it("a wall clock that is set forward costs a request, and no more", async () => {
  const { verify, clock, count } = await setup(origin([a], LONG_CACHE));
  await verify(a.token());
  clock.moveWallSeconds(30 * day);
  await verify(a.token());
  expect(count()).toBe(2);
  clock.moveWallSeconds(-30 * day);
  clock.advanceSeconds(3599);
  await verify(a.token());
  expect(count()).toBe(2);
});

it("a Retry-After date counts from the wall clock option", async () => {
  const { verify, clock, server } = await setup(() => ({ status: 503 }));
  clock.moveWallSeconds(30 * day);
  server.answerWith(() => ({
    status: 503,
    headers: { "retry-after": new Date(Math.ceil(clock.now() / 1000) * 1000 + 30_000).toUTCString() },
  }));
  await expect(verify(a.token())).rejects.toMatchObject({ status: 503 });
  const error = await verify(a.token()).catch((thrown: { retryAfterMs: number }) => thrown);
  expect(error).toMatchObject({ retryAfterMs: expect.closeTo(30_500, -3) });
});
