import { describe, expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";
import { eventually, gate, LONG_CACHE, origin, ROTATION_CACHE, setup } from "../support/remote.ts";

// Rule 2: what happens after max-age.

const a = testKey("a");
const b = testKey("b");

describe("inside stale-while-revalidate", () => {
  it("answers from the stored set and asks once in the background", async () => {
    const { keySet, verify, server, clock, count, last } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(3601);
    const { opened, open } = gate();
    server.answerWith((request) => ({ ...(origin([a], LONG_CACHE)(request) as object), after: opened }));
    await Promise.all(Array.from({ length: 20 }, async () => verify(a.token())));
    await eventually(() => count() === 2);
    expect(last().headers).toMatchObject({ "if-none-match": expect.any(String), "cache-control": "max-age=0" });
    open();
    await eventually(() => keySet.stats().notModified === 1);
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("a key that left the set is untrusted as soon as the background answer is here", async () => {
    const { keySet, verify, server, clock } = await setup(origin([a, b], LONG_CACHE));
    await verify(b.token());
    clock.advanceSeconds(3601);
    server.answerWith(origin([a], LONG_CACHE));
    await verify(b.token());
    await eventually(() => keySet.stats().updated === 2);
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("waits once the window is over", async () => {
    const { verify, server, clock } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(7201);
    server.answerWith(origin([b], LONG_CACHE));
    await expect(verify(a.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("waits immediately if the caller wants no stale sets", async () => {
    const { verify, server, clock, count } = await setup(origin([a], LONG_CACHE), { staleWhileRevalidate: false });
    await verify(a.token());
    clock.advanceSeconds(3601);
    server.answerWith(origin([b], LONG_CACHE));
    await verify(b.token());
    expect(count()).toBe(2);
  });

  it.each([
    ["must-revalidate", "max-age=60, stale-while-revalidate=600, must-revalidate"],
    ["no-cache", "max-age=60, stale-while-revalidate=600, no-cache"],
    ["no-store", "max-age=60, stale-while-revalidate=600, no-store"],
    ["MUST-REVALIDATE", "max-age=60, stale-while-revalidate=600, MUST-REVALIDATE"],
  ])("%s forbids it", async (_name, cacheControl) => {
    const { verify, server, clock } = await setup(origin([a], { "cache-control": cacheControl }));
    await verify(a.token());
    clock.advanceSeconds(61);
    server.answerWith(origin([b], LONG_CACHE));
    await expect(verify(a.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("an unknown kid waits for the answer that is on its way before it forces another", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(3601);
    const { opened, open } = gate();
    server.answerWith((request) => ({ ...(origin([a, b], LONG_CACHE)(request) as object), after: opened }));
    await verify(a.token());
    const waiting = verify(b.token());
    open();
    await waiting;
    expect(count()).toBe(2);
    expect(keySet.stats()).toMatchObject({ forced: 0 });
  });

  it("an unknown kid forces a refetch if that answer does not know it either", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(3601);
    server.answerWith((request) =>
      origin(request.headers["if-none-match"] === undefined ? [a, b] : [a], LONG_CACHE)(request),
    );
    await verify(b.token());
    expect(count()).toBe(3);
    expect(keySet.stats()).toMatchObject({ notModified: 1, forced: 1 });
  });
});

describe("revalidation", () => {
  it.each([['"strong"'], ['W/"weak"'], ['w/"weak"'], ['""'], ['"with, comma"'], ["unquoted"], ['"*"']])(
    "sends the ETag %s back as it came",
    async (etag) => {
      const { verify, server, clock, last } = await setup(origin([a], ROTATION_CACHE));
      const body = JSON.stringify({ keys: [a.jwk] });
      server.answerWith(() => ({ headers: { ...ROTATION_CACHE, etag, "content-type": "application/json" }, body }));
      await verify(a.token());
      clock.advanceSeconds(301);
      await verify(a.token());
      expect(last().headers["if-none-match"]).toBe(etag);
    },
  );

  it.each([["*"], [""], ['"a", *'], ['"a", "b"'], ['"open'], ["two words"]])(
    "never sends the invalid ETag %s, or a revoked key would be trusted forever",
    async (etag) => {
      const answer =
        (keys: readonly unknown[]) => (request: { headers: { "if-none-match"?: string | undefined } }) => ({
          ...(request.headers["if-none-match"] === undefined ? { body: JSON.stringify({ keys }) } : { status: 304 }),
          headers: { ...ROTATION_CACHE, etag, "content-type": "application/json" },
        });
      const { verify, server, clock, last } = await setup(answer([a.jwk, b.jwk]));
      await verify(b.token());
      server.answerWith(answer([a.jwk]));
      clock.advanceSeconds(301);
      await verify(a.token());
      expect(last().headers["if-none-match"]).toBeUndefined();
      await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    },
  );

  it("asks once with an ETag that was sent twice", async () => {
    const { verify, server, clock, last } = await setup(origin([a], ROTATION_CACHE));
    server.answerWith(origin([a], { ...ROTATION_CACHE, etag: ['"e"', '"e"'] }));
    await verify(a.token());
    clock.advanceSeconds(301);
    await verify(a.token());
    expect(last().headers["if-none-match"]).toBe('"e"');
  });

  it("takes a 304 whose ETag was sent twice for one about the stored set", async () => {
    const { keySet, verify, server, clock, count } = await setup(
      origin([a], { ...ROTATION_CACHE, etag: ['"e"', '"e"'] }),
    );
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith(() => ({ status: 304, headers: { ...ROTATION_CACHE, etag: ['"e"', '"e"'] } }));
    await verify(a.token());
    expect(count()).toBe(2);
    expect(keySet.stats()).toMatchObject({ notModified: 1 });
  });

  it("is unconditional if there was no ETag", async () => {
    const body = JSON.stringify({ keys: [a.jwk] });
    const { verify, clock, count, last } = await setup({
      headers: { ...ROTATION_CACHE, "content-type": "application/json" },
      body,
    });
    await verify(a.token());
    clock.advanceSeconds(301);
    await verify(a.token());
    expect(count()).toBe(2);
    expect(last().headers["if-none-match"]).toBeUndefined();
  });

  it("a 304 keeps the keys and replaces the headers, so a warm RP learns of the rotation mode", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a], LONG_CACHE), {
      staleWhileRevalidate: false,
    });
    await verify(a.token());
    clock.advanceSeconds(3601);
    server.answerWith(origin([a], ROTATION_CACHE));
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ notModified: 1, keys: 1 });
    clock.advanceSeconds(299);
    await verify(a.token());
    expect(count()).toBe(2);
    clock.advanceSeconds(2);
    await verify(a.token());
    expect(count()).toBe(3);
  });

  it("the Age of the first answer does not outlive it, and the Age of a 304 counts", async () => {
    const { verify, server, clock, count } = await setup(origin([a], { "cache-control": "max-age=600", age: "500" }));
    await verify(a.token());
    clock.advanceSeconds(101);
    server.answerWith(origin([a], { "cache-control": "max-age=600" }));
    await verify(a.token());
    clock.advanceSeconds(599);
    await verify(a.token());
    expect(count()).toBe(2);
    clock.advanceSeconds(2);
    server.answerWith(origin([a], { "cache-control": "max-age=600", age: "590" }));
    await verify(a.token());
    clock.advanceSeconds(11);
    await verify(a.token());
    expect(count()).toBe(4);
  });

  it("a 304 without Cache-Control keeps the stored one", async () => {
    const { verify, server, clock, count } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith(() => ({ status: 304 }));
    await verify(a.token());
    clock.advanceSeconds(299);
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("a 304 about another ETag causes one request that bypasses the caches", async () => {
    const { verify, server, clock, count, last } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith((request) =>
      request.headers["if-none-match"] === undefined
        ? origin([b], ROTATION_CACHE)(request)
        : { status: 304, headers: { etag: '"other"' } },
    );
    await verify(b.token());
    expect(count()).toBe(3);
    expect(last().headers).toMatchObject({ "cache-control": "no-cache" });
  });

  it("a 304 whose ETag a proxy weakened is about the stored set", async () => {
    const { verify, server, clock, count } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith((request) => ({ status: 304, headers: { etag: `W/${request.headers["if-none-match"] ?? ""}` } }));
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("a 304 to the very first request causes one request that bypasses the caches", async () => {
    const { verify, server, count } = await setup({ status: 304 });
    server.answerWith((request) =>
      request.headers["cache-control"] === "no-cache" ? origin([a], LONG_CACHE)(request) : { status: 304 },
    );
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("an origin that answers 304 to everything is an error after two requests", async () => {
    const { verify, count } = await setup({ status: 304 });
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", status: 304 });
    expect(count()).toBe(2);
  });
});

describe("revalidation with a condition", () => {
  it.each([
    [400, "because its own ETag has no quotes", "get"],
    [412, "because nothing has changed", "get"],
    [412, "because nothing has changed", "head"],
    [403, "because a firewall does not let the header pass", "get"],
    [404, "because it routes by headers", "get"],
    [500, "because it fails to make a 304", "get"],
    [502, "because a function behind it fails to make a 304", "head"],
  ] as const)("goes on without it where the server answers %i, %s: %s", async (status, _why, revalidateWith) => {
    const withoutCondition = origin([a], { ...ROTATION_CACHE, etag: "v1" });
    const { verify, server, clock, keySet } = await setup(withoutCondition, { revalidateWith });
    await verify(a.token());
    server.answerWith((request) =>
      "if-none-match" in request.headers ? { status } : withoutCondition({ ...request, headers: {} }),
    );
    clock.advanceSeconds(301);
    await verify(a.token());
    expect(server.requests.at(-1)).toMatchObject({ method: "GET", headers: { "cache-control": "max-age=0" } });
    expect(keySet.stats()).toMatchObject({ failed: 0, updated: 2 });
  });

  it("goes on without it where the server closes the connection", async () => {
    const withoutCondition = origin([a], { ...ROTATION_CACHE, etag: "v1" });
    const { verify, server, clock, keySet } = await setup(withoutCondition);
    await verify(a.token());
    server.answerWith((request) => ("if-none-match" in request.headers ? "destroy" : withoutCondition(request)));
    clock.advanceSeconds(301);
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ failed: 0, updated: 2 });
  });

  it("fails where the server answers so without it, too", async () => {
    const { verify, server, clock, count } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    server.answerWith(() => ({ status: 400 }));
    clock.advanceSeconds(301);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", status: 400 });
    expect(count()).toBe(3);
  });

  it.each([
    [429, {}],
    [503, {}],
    [504, {}],
    [500, { "retry-after": "1" }],
  ])("is not repeated where the server is down or overloaded: %i", async (status, headers) => {
    const { verify, server, clock, count } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    server.answerWith(() => ({ status, headers }));
    clock.advanceSeconds(301);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", status });
    expect(count()).toBe(2);
  });
});

describe("revalidation by HEAD", () => {
  it("needs no GET if the ETag is the same", async () => {
    const { verify, clock, count, last, keySet } = await setup(origin([a], ROTATION_CACHE), { revalidateWith: "head" });
    await verify(a.token());
    clock.advanceSeconds(301);
    await verify(a.token());
    expect(count()).toBe(2);
    expect(last().method).toBe("HEAD");
    expect(keySet.stats()).toMatchObject({ notModified: 1 });
  });

  it("takes a 200 with the same ETag for unchanged", async () => {
    const { verify, server, clock, count } = await setup(origin([a], ROTATION_CACHE), { revalidateWith: "head" });
    await verify(a.token());
    clock.advanceSeconds(301);
    const unconditional = origin([a], ROTATION_CACHE);
    server.answerWith((request) => unconditional({ ...request, headers: {} }));
    await verify(a.token());
    expect(count()).toBe(2);
  });

  it("sends GET if the ETag differs", async () => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE), { revalidateWith: "head" });
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith(origin([b], ROTATION_CACHE));
    await verify(b.token());
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "HEAD", "GET"]);
  });

  it.each([400, 401, 403, 404, 405, 500, 501, 502, 302])("sends GET if HEAD answers %i", async (status) => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE), { revalidateWith: "head" });
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith((request) => (request.method === "HEAD" ? { status } : origin([a], ROTATION_CACHE)(request)));
    await verify(a.token());
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "HEAD", "GET"]);
    expect(server.requests.at(-1)?.headers["if-none-match"]).toBeDefined();
  });

  it("sends GET if the answer to HEAD is not HTTP, as from a firewall that knows only GET", async () => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE), { revalidateWith: "head" });
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith((request) => (request.method === "HEAD" ? "destroy" : origin([a], ROTATION_CACHE)(request)));
    await verify(a.token());
    expect(server.requests.at(-1)).toMatchObject({ method: "GET", headers: { "if-none-match": expect.any(String) } });
  });

  it("goes on by GET, the next time, where HEAD is never answered", async () => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE), {
      revalidateWith: "head",
      timeoutMs: 150,
    });
    await verify(a.token());
    const never = gate();
    onTestFinished(never.open);
    server.answerWith((request) =>
      request.method === "HEAD" ? { after: never.opened } : origin([a], ROTATION_CACHE)(request),
    );
    clock.advanceSeconds(301);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "timeout" });
    clock.advanceSeconds(6);
    await verify(a.token());
    clock.advanceSeconds(301);
    await verify(a.token());
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "HEAD", "GET", "GET"]);
    expect(server.requests.at(-1)?.headers["if-none-match"]).toBeDefined();
  });

  it.each<[string, number, Record<string, string>]>([
    ["429", 429, {}],
    ["503 with Retry-After", 503, { "retry-after": "30" }],
  ])("does not go on where the server asks for patience: %s", async (_name, status, headers) => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE), { revalidateWith: "head" });
    await verify(a.token());
    clock.advanceSeconds(301);
    server.answerWith(() => ({ status, headers }));
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", status });
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "HEAD"]);
  });
});
