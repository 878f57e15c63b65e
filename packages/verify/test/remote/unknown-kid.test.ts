import { describe, expect, it } from "vitest";
import { testKey } from "../support/keys.ts";
import { eventually, gate, LONG_CACHE, origin, setup } from "../support/remote.ts";

// Rule 3: an unknown kid.

const a = testKey("a");
const b = testKey("b");

function unknown(kid: string): Promise<string> {
  return testKey(kid).token();
}

describe("an unknown kid", () => {
  it("verifies one second after a fetch, with one refetch that bypasses the caches", async () => {
    const { keySet, verify, server, clock, count, last } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(1);
    server.answerWith(origin([b, a], LONG_CACHE));
    await verify(b.token());
    expect(count()).toBe(2);
    expect(last()).toMatchObject({ method: "GET", headers: { "cache-control": "no-cache" } });
    expect(last().headers["if-none-match"]).toBeUndefined();
    expect(keySet.stats()).toMatchObject({ forced: 1, throttled: 0 });
  });

  it("costs one request for a thousand random kids, one after another", async () => {
    const { keySet, verify, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    const token = await unknown("random");
    const [, payload, signature] = token.split(".");
    const refusals = new Set<unknown>();
    for (let index = 0; index < 1000; index += 1) {
      const header = Buffer.from(JSON.stringify({ alg: "ES256", kid: `random-${index}` })).toString("base64url");
      await verify(`${header}.${payload}.${signature}`).catch((error: unknown) =>
        refusals.add((error as { code: string }).code),
      );
    }
    expect([...refusals]).toEqual(["unknown_kid"]);
    expect(count()).toBe(2);
    expect(keySet.stats()).toMatchObject({ forced: 1, throttled: 999 });
  });

  it("costs one request for a thousand random kids at once", async () => {
    const { verify, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    const [, payload, signature] = (await unknown("random")).split(".");
    const results = await Promise.allSettled(
      Array.from({ length: 1000 }, async (_, index) => {
        const header = Buffer.from(JSON.stringify({ alg: "ES256", kid: `random-${index}` })).toString("base64url");
        return verify(`${header}.${payload}.${signature}`);
      }),
    );
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["rejected"]));
    expect(count()).toBe(2);
  });

  it("is refused with the time until the next refetch while throttled", async () => {
    const { verify, server, clock, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    await expect(verify(unknown("x"))).rejects.toMatchObject({ code: "unknown_kid", retryAfterMs: undefined });
    clock.advanceSeconds(5);
    await expect(verify(unknown("y"))).rejects.toMatchObject({ code: "unknown_kid", retryAfterMs: 15_000 });
    expect(count()).toBe(2);
    server.answerWith(origin([b, a], LONG_CACHE));
    clock.advanceSeconds(15);
    await verify(b.token());
    expect(count()).toBe(3);
  });

  it("is refused with the time until the next refetch after one that failed", async () => {
    const { verify, server, clock } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    server.answerWith(() => ({ status: 503 }));
    await expect(verify(unknown("x"))).rejects.toMatchObject({ code: "http_status", retryAfterMs: 20_000 });
    clock.advanceSeconds(1);
    // The failure is remembered for 4 s more, and the next refetch must wait for longer.
    await expect(verify(unknown("y"))).rejects.toMatchObject({ code: "http_status", retryAfterMs: 19_000 });
    server.answerWith(origin([b, a], LONG_CACHE));
    clock.advanceSeconds(19);
    await verify(b.token());
  });

  it("does not shake the keys that are known", async () => {
    const { verify } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    await expect(verify(unknown("x"))).rejects.toMatchObject({ code: "unknown_kid" });
    await verify(a.token());
  });

  it("is not held up by ordinary fetches: only forced ones are counted", async () => {
    const { verify, server, clock, keySet } = await setup(origin([a], { "cache-control": "max-age=1" }));
    for (let second = 0; second < 5; second += 1) {
      await verify(a.token());
      clock.advanceSeconds(2);
    }
    await keySet.refresh();
    server.answerWith(origin([b, a], LONG_CACHE));
    await verify(b.token());
    expect(keySet.stats()).toMatchObject({ forced: 1 });
  });

  it("uses up its permit even if the refetch fails", async () => {
    const { verify, server, clock, count } = await setup(origin([a], LONG_CACHE), { failureMemoryMs: 0 });
    await verify(a.token());
    server.answerWith(() => ({ status: 500 }));
    await expect(verify(unknown("x"))).rejects.toMatchObject({ code: "http_status", status: 500 });
    clock.advanceSeconds(1);
    await expect(verify(unknown("x"))).rejects.toMatchObject({ status: 500, retryAfterMs: 19_000 });
    expect(count()).toBe(2);
    await verify(a.token());
  });

  it("is not blamed on the token until a set has answered", async () => {
    const { verify, server, clock, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    server.answerWith(() => ({ status: 500 }));
    await expect(verify(b.token())).rejects.toMatchObject({ code: "http_status", transient: true });
    server.answerWith(origin([b, a], LONG_CACHE));
    // The pause after a failure is over, the one after a refetch is not.
    clock.advanceSeconds(6);
    await expect(verify(b.token())).rejects.toMatchObject({
      code: "http_status",
      transient: true,
      status: 500,
      retryAfterMs: 14_000,
    });
    expect(count()).toBe(2);
    clock.advanceSeconds(14);
    await verify(b.token());
    await expect(verify(unknown("x"))).rejects.toMatchObject({ code: "unknown_kid", transient: false });
  });

  it("at the first use costs the first fetch and one that bypasses the caches", async () => {
    const { verify, count } = await setup(origin([a], LONG_CACHE));
    await expect(verify(unknown("x"))).rejects.toMatchObject({ code: "unknown_kid" });
    expect(count()).toBe(2);
  });

  it("joins a refetch that is under way", async () => {
    const { verify, server, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    const { opened, open } = gate();
    server.answerWith((request) => ({ ...(origin([b, a], LONG_CACHE)(request) as object), after: opened }));
    const waiting = [verify(b.token()), verify(b.token()), verify(unknown("x"))];
    open();
    const results = await Promise.allSettled(waiting);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(count()).toBe(2);
  });

  it.each([
    ["a forced refetch", async (verifies: () => Promise<unknown>) => verifies()],
    ["a refresh of the caller", async (_verifies: unknown, refreshes: () => Promise<unknown>) => refreshes()],
  ])("that waited for %s asks no more, since that one bypassed the caches", async (_name, starts) => {
    const { keySet, verify, server, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    const { opened, open } = gate();
    server.answerWith((request) => ({ ...(origin([a], LONG_CACHE)(request) as object), after: opened }));
    const [other, token] = await Promise.all([unknown("other"), unknown("x")]);
    const started = starts(
      async () => verify(other),
      async () => keySet.refresh(),
    ).catch(() => undefined);
    await eventually(() => count() === 2);
    const waiting = verify(token);
    open();
    // Without a permit it would be told to wait.
    await expect(waiting).rejects.toMatchObject({
      code: "unknown_kid",
      retryAfterMs: undefined,
      message: expect.stringContaining("even after a refetch"),
    });
    await started;
    expect(count()).toBe(2);
  });

  it("that waited for the first fetch asks past the caches, since that one did not", async () => {
    const { opened, open } = gate();
    const { keySet, verify, count, last } = await setup((request) => ({
      ...(origin([a], LONG_CACHE)(request) as object),
      after: opened,
    }));
    const waiting = verify(unknown("x"));
    await eventually(() => count() === 1);
    open();
    await expect(waiting).rejects.toMatchObject({ code: "unknown_kid", retryAfterMs: undefined });
    expect(count()).toBe(2);
    expect(last().headers).toMatchObject({ "cache-control": "no-cache" });
    expect(keySet.stats()).toMatchObject({ forced: 1 });
  });

  it("may come in bursts if the caller allows it", async () => {
    const { verify, clock, count } = await setup(origin([a], LONG_CACHE), {
      forcedRefetchBurst: 3,
      forcedRefetchIntervalMs: 1000,
    });
    await verify(a.token());
    for (let index = 0; index < 5; index += 1) await verify(unknown("x")).catch(() => {});
    expect(count()).toBe(4);
    clock.advanceSeconds(2);
    for (let index = 0; index < 5; index += 1) await verify(unknown("x")).catch(() => {});
    expect(count()).toBe(6);
  });
});
