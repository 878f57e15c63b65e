import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createRemoteKeySet } from "@signpost/verify";
import { describe, expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";
import { eventually, LONG_CACHE, origin, ROTATION_CACHE, setup } from "../support/remote.ts";
import type { Answer } from "@signpost/test-backends/counting-jwks-server";

// Rule 5: bad entries, and refreshes that fail.

const a = testKey("a");
const b = testKey("b");
const down: Answer = () => ({ status: 503 });
const json = { "content-type": "application/json" };

describe("bad entries", () => {
  it("are left out one by one and counted by reason", async () => {
    const { d: _d, ...rsa } = testKey("r", "RS256").privateKey.export({ format: "jwk" });
    const bad = [
      { kty: "AKP", alg: "ML-DSA-65", kid: "pq", pub: "AAAA" },
      { kty: "oct", k: "AAAA", kid: "oct" },
      { ...a.privateKey.export({ format: "jwk" }), kid: "private" },
      rsa,
      { ...a.jwk, kid: "long", x: `${a.jwk.x ?? ""}A` },
      { ...a.jwk, kid: "k1", crv: "secp256k1" },
      "text",
      null,
      [],
      { ...b.jwk, use: "enc", alg: "ECDH-ES" },
      { ...b.jwk, alg: "ES256K" },
    ];
    const { keySet, verify, count } = await setup(origin([...bad, a], LONG_CACHE));
    await verify(a.token());
    expect(count()).toBe(1);
    expect(keySet.stats()).toMatchObject({
      keys: 1,
      dropped: {
        unsupported_kty: 1,
        symmetric: 1,
        private: 2,
        malformed: 1,
        unsupported_crv: 1,
        not_an_object: 3,
        not_for_signatures: 1,
        unsupported_alg: 1,
      },
    });
  });
});

describe("a kept connection that the server closes", () => {
  it("costs one more request, and no rotation", async () => {
    const { keySet, verify, server, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    // The connection is kept once its answer has been read to the end.
    await new Promise((later) => setTimeout(later, 50));
    server.answerWith(() => {
      server.answerWith(origin([b, a], LONG_CACHE));
      return "destroy";
    });
    await verify(b.token());
    expect(count()).toBe(3);
    expect(server.connections()).toBe(2);
    expect(keySet.stats()).toMatchObject({ requests: 3, failed: 0, forced: 1 });
  });

  it("is an error if the new one is closed too", async () => {
    const { keySet, verify, server, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    await new Promise((later) => setTimeout(later, 50));
    server.answerWith(() => "destroy");
    await expect(keySet.refresh()).rejects.toMatchObject({ code: "fetch_failed" });
    expect(count()).toBe(3);
    await verify(a.token());
  });

  it("is no error if the server resets all its kept connections at once", async () => {
    const sockets: Socket[] = [];
    const waiting: (() => void)[] = [];
    const server = createServer((_request, response) => {
      waiting.push(() => response.writeHead(200, json).end(JSON.stringify({ keys: [a.jwk] })));
      // The first two answers wait for each other, so that each needs a connection.
      if (waiting.length === 2 || sockets.length > 2) for (const answer of waiting.splice(0)) answer();
    });
    server.on("connection", (socket) => void sockets.push(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = server.address() as AddressInfo;
    const keySet = createRemoteKeySet(`http://127.0.0.1:${port}/jwks`, { allowInsecureLoopback: true });
    await Promise.all([keySet.refresh(), keySet.refresh()]);
    await new Promise((later) => setTimeout(later, 50));
    expect(sockets).toHaveLength(2);

    for (const socket of sockets) socket.resetAndDestroy();
    await keySet.refresh();
    expect(sockets).toHaveLength(3);
    expect(keySet.stats()).toMatchObject({ updated: 3, failed: 0 });
  });
});

describe("answers that are not a usable set", () => {
  const answers: readonly [string, Answer, string][] = [
    ["an empty set", () => ({ headers: json, body: '{"keys":[]}' }), "no_usable_key"],
    ["no usable key", () => ({ headers: json, body: '{"keys":[{"kty":"oct","k":"AAAA"}]}' }), "no_usable_key"],
    ["no keys member", () => ({ headers: json, body: "{}" }), "invalid_jwks"],
    ["keys that are not an array", () => ({ headers: json, body: '{"keys":{}}' }), "invalid_jwks"],
    ["null", () => ({ headers: json, body: "null" }), "invalid_jwks"],
    ["an array", () => ({ headers: json, body: "[]" }), "invalid_jwks"],
    ["no JSON", () => ({ headers: json, body: "{" }), "invalid_jwks"],
    ["nothing", () => ({ headers: json, body: "" }), "invalid_jwks"],
    ["bytes that are not UTF-8", () => ({ headers: json, body: Uint8Array.of(0x7b, 0xff, 0x7d) }), "invalid_jwks"],
    ["HTML", () => ({ headers: { "content-type": "text/html" }, body: "<html></html>" }), "unexpected_content_type"],
    [
      "a set as text",
      () => ({ headers: { "content-type": "text/plain" }, body: JSON.stringify({ keys: [a.jwk] }) }),
      "unexpected_content_type",
    ],
    ["a set without a type", () => ({ body: JSON.stringify({ keys: [a.jwk] }) }), "unexpected_content_type"],
    ["404", () => ({ status: 404 }), "http_status"],
    ["204", () => ({ status: 204 }), "http_status"],
    ["a closed connection", () => "destroy", "fetch_failed"],
  ];

  it.each(answers)("%s is an error at the first fetch, and remembered", async (_name, answer, code) => {
    const { keySet, verify, count } = await setup(answer);
    await expect(verify(a.token())).rejects.toMatchObject({ name: "KeySetError", code, retryAfterMs: 5000 });
    const requests = count();
    await expect(verify(a.token())).rejects.toMatchObject({ code, retryAfterMs: 5000 });
    expect(count()).toBe(requests);
    expect(keySet.stats()).toMatchObject({ failed: 1, keys: 0 });
  });

  it.each(answers)("%s never replaces a set that works", async (_name, answer) => {
    const { keySet, verify, server, clock } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(3601);
    server.answerWith(answer);
    await verify(a.token());
    await eventually(() => keySet.stats().failed === 1);
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ keys: 1 });
  });

  it("a byte order mark is skipped", async () => {
    const { verify } = await setup({ headers: json, body: `\uFEFF${JSON.stringify({ keys: [a.jwk] })}` });
    await expect(verify(a.token())).resolves.toBeDefined();
  });

  it("parameters of the media type are ignored", async () => {
    const headers = { "content-type": "Application/JWK-Set+JSON; charset=utf-8" };
    const { verify } = await setup({ headers, body: JSON.stringify({ keys: [a.jwk] }) });
    await expect(verify(a.token())).resolves.toBeDefined();
  });

  it.each([
    [undefined, "Text/HTML; charset=utf-8", "text/html, expected application/jwk-set+json or application/json"],
    [["application/jwk-set+json"], "application/json", "application/json, expected application/jwk-set+json"],
    [undefined, "<secret>", "an invalid content type, expected application/jwk-set+json or application/json"],
    [undefined, "", "no content type, expected application/jwk-set+json or application/json"],
  ])("contentTypes: %j of a set of %j: the message says what came and what may", async (contentTypes, type, said) => {
    const { verify, keySet } = await setup({ headers: { "content-type": type }, body: "{}" }, { contentTypes });
    await expect(verify(a.token())).rejects.toMatchObject({
      code: "unexpected_content_type",
      message: `${keySet.jwksUri} answered with ${said}`,
    });
  });

  it("any media type is read if the caller allows it", async () => {
    const { verify } = await setup(
      { headers: { "content-type": "text/html" }, body: JSON.stringify({ keys: [a.jwk] }) },
      { contentTypes: "any" },
    );
    await expect(verify(a.token())).resolves.toBeDefined();
  });
});

describe("while the OP is down", () => {
  it("must-revalidate means errors after max-age", async () => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    server.answerWith(down);
    clock.advanceSeconds(299);
    await verify(a.token());
    clock.advanceSeconds(2);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", status: 503 });
  });

  it.each([
    ["max-age=0", 10],
    ["no-cache", 10],
    ["no-store", 10],
    ["max-age=3600, no-cache, stale-while-revalidate=3600", 10],
    ["max-age=0, stale-while-revalidate=60", 60],
    ["max-age=0, stale-if-error=600", 600],
    ["no-cache, stale-if-error=600", 10],
  ])("a set with %s is used for %i s", async (cacheControl, seconds) => {
    const { verify, server, clock } = await setup(origin([a], { "cache-control": cacheControl }));
    await verify(a.token());
    server.answerWith(down);
    clock.advanceSeconds(seconds - 1);
    await verify(a.token());
    clock.advanceSeconds(2);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", status: 503 });
  });

  it("a set with no-cache is used as long as minRevalidateIntervalMs and staleIfErrorSeconds say", async () => {
    const { verify, server, clock } = await setup(origin([a], { "cache-control": "no-cache" }), {
      minRevalidateIntervalMs: 60_000,
      staleIfErrorSeconds: 600,
    });
    await verify(a.token());
    server.answerWith(down);
    clock.advanceSeconds(659);
    await verify(a.token());
    clock.advanceSeconds(2);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", status: 503 });
  });

  it("staleIfErrorSeconds overrides must-revalidate, within its limit", async () => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE), { staleIfErrorSeconds: 600 });
    await verify(a.token());
    server.answerWith(down);
    clock.advanceSeconds(301);
    await verify(a.token());
    clock.advanceSeconds(598);
    await verify(a.token());
    clock.advanceSeconds(2);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
  });

  it("staleIfErrorSeconds waits for the answer first: it is for errors alone", async () => {
    const { verify, server, clock } = await setup(origin([a], ROTATION_CACHE), { staleIfErrorSeconds: 600 });
    await verify(a.token());
    server.answerWith(origin([b], ROTATION_CACHE));
    clock.advanceSeconds(301);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("stale-while-revalidate carries the set through to its end", async () => {
    const { verify, server, clock } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    server.answerWith(down);
    clock.advanceSeconds(7199);
    await verify(a.token());
    clock.advanceSeconds(2);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
  });

  it("a server that hangs makes callers wait once, and again after a long time without requests", async () => {
    const { keySet, server, clock, count } = await setup(origin([a, b], ROTATION_CACHE), {
      staleIfErrorSeconds: 600,
      timeoutMs: 100,
    });
    await keySet.preload();
    server.answerWith(() => ({ after: new Promise(() => {}) }));
    clock.advanceSeconds(301);
    const ask = (kid: string) => keySet({ alg: "ES256", kid });
    await Promise.all([ask("a"), ask("b")]);
    expect(keySet.stats()).toMatchObject({ failed: 1 });
    // Its failure is remembered no longer, and the next attempt hangs behind.
    clock.advanceSeconds(5);
    await Promise.all([ask("a"), ask("b")]);
    expect(keySet.stats()).toMatchObject({ failed: 1 });
    await eventually(() => keySet.stats().failed === 2);
    expect(count()).toBe(3);
    // A revoked key is not used once more only because the server was down long ago.
    server.answerWith(origin([a], ROTATION_CACHE));
    clock.advanceSeconds(60);
    await expect(ask("b")).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("stale-if-error of the answer is followed, unless must-revalidate forbids it", async () => {
    const cases = [
      ["max-age=60, stale-if-error=600", "fulfilled"],
      ["max-age=60, stale-if-error=600, must-revalidate", "rejected"],
      ["max-age=60, stale-if-error=600, no-cache", "rejected"],
    ] as const;
    for (const [cacheControl, expected] of cases) {
      const { verify, server, clock } = await setup(origin([a], { "cache-control": cacheControl }));
      await verify(a.token());
      server.answerWith(down);
      clock.advanceSeconds(61);
      const [result] = await Promise.allSettled([verify(a.token())]);
      expect([cacheControl, result.status]).toEqual([cacheControl, expected]);
      clock.advanceSeconds(600);
      await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
    }
  });

  it("twenty cold verifies cost one request in five seconds", async () => {
    const { verify, clock, count } = await setup(() => ({ status: 500 }));
    for (let index = 0; index < 20; index += 1) {
      await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status", status: 500 });
    }
    expect(count()).toBe(1);
    clock.advanceSeconds(5);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
    expect(count()).toBe(2);
  });

  it.each([
    ["30", 30_000],
    ["1", 5000],
    ["9000", 60_000],
    ["30, 30", 30_000],
    ["30 \t", 30_000],
    ["nonsense", 5000],
    ["Thu, 18 Aug 2050 02:01:18 GMT", 60_000],
    ["Thursday, 18-Aug-50 02:01:18 GMT", 60_000],
    // Dates for Date.parse alone.
    ["Thu, 18 Aug 2050 02:01:18 UTC", 5000],
    ["2050", 60_000],
    ["2050-08-18", 5000],
    ["-1", 5000],
  ])("Retry-After: %s is remembered for %i ms", async (retryAfter, ms) => {
    const { verify } = await setup(() => ({ status: 429, headers: { "retry-after": retryAfter } }));
    // The first error too: until then, no request is sent, even if the server asked for less time.
    await expect(verify(a.token())).rejects.toMatchObject({ status: 429, retryAfterMs: ms });
    await expect(verify(a.token())).rejects.toMatchObject({ status: 429, retryAfterMs: ms });
  });

  it("Retry-After as a date is followed up to a minute", async () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    const { verify } = await setup(() => ({ status: 503, headers: { "retry-after": date } }));
    await expect(verify(a.token())).rejects.toMatchObject({ status: 503 });
    await expect(verify(a.token())).rejects.toMatchObject({ retryAfterMs: 60_000 });
  });

  it("an unknown kid is answered from the memory of the failure", async () => {
    const { verify, server, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    server.answerWith(down);
    await expect(verify(b.token())).rejects.toMatchObject({ code: "http_status" });
    await expect(verify(b.token())).rejects.toMatchObject({ code: "http_status", retryAfterMs: 20_000 });
    expect(count()).toBe(2);
    await verify(a.token());
  });

  it("is over with the first answer", async () => {
    const { verify, server, clock } = await setup(down);
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
    server.answerWith(origin([a], LONG_CACHE));
    clock.advanceSeconds(5);
    await verify(a.token());
  });
});
