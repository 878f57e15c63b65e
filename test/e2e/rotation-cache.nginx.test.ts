import { RECOMMENDED_CONF } from "@signpost/test-backends/nginx";
import { describe, expect, test } from "vitest";
import { ask } from "./support/ask.ts";
import {
  defaultCache,
  LONG_CACHE,
  NEW,
  NEW_SET,
  OLD,
  OLD_SET,
  ROTATION_CACHE,
  startCachedReplicas,
  textOf,
} from "./support/cached-replicas.ts";

// nginx as the shared cache of three replicas. Its clock stands still until a test moves it.

/** A background request of nginx has no end that a client could see. */
async function eventually(done: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (await done()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("it did not happen within 5 s");
}

describe("the recommended configuration", () => {
  test("passes the endpoint's answer on as it is, without an Age, as if it were made now", async () => {
    const { nginx, replicas, at } = await startCachedReplicas(RECOMMENDED_CONF);
    await ask(nginx.origin);
    await at(3599);
    const { status, headers, body } = await ask(nginx.origin);
    expect([status, body.toString()]).toEqual([200, textOf(OLD)]);
    expect(headers).toEqual({
      server: expect.stringMatching(/^nginx\//),
      connection: "close",
      date: "Wed, 01 Jul 2026 00:59:59 GMT",
      "content-type": "application/jwk-set+json",
      "content-length": String(OLD.body.length),
      "cache-control": LONG_CACHE,
      etag: OLD.etag,
      allow: "GET, HEAD",
    });
    expect(replicas.requests()).toBe(1);
  });

  test("answers a warm cache with 304, and asks a replica once an hour for all of them", async () => {
    const { nginx, replicas, at } = await startCachedReplicas(RECOMMENDED_CONF);
    const { headers } = await ask(nginx.origin);
    const warm = { "If-None-Match": headers.etag ?? "" };
    for (const seconds of [0, 1800, 3599, 3601, 7000, 7199]) {
      await at(seconds);
      const answer = await ask(nginx.origin, { headers: warm });
      expect([answer.status, answer.body.length]).toEqual([304, 0]);
      expect([answer.headers.etag, answer.headers["cache-control"]]).toEqual([OLD.etag, LONG_CACHE]);
      expect(answer.headers["content-type"]).toBeUndefined();
    }
    await eventually(async () => replicas.requests() === 2);
  });

  test.each([
    ["HEAD", { method: "HEAD" }, 200],
    ["a query", { path: "/jwks?cb=1" }, 200],
    ["another ETag", { headers: { "If-None-Match": '"a"' } }, 200],
    ["*", { headers: { "If-None-Match": "*" } }, 304],
    ["a list", { headers: { "If-None-Match": `"a", ${OLD.etag}` } }, 304],
    ["Authorization and a cookie", { headers: { Authorization: "Bearer x", Cookie: "a=b" } }, 200],
  ])("answers %s from what it has", async (_name, question, status) => {
    const { nginx, replicas } = await startCachedReplicas(RECOMMENDED_CONF);
    await ask(nginx.origin);
    const answer = await ask(nginx.origin, question);
    expect([answer.status, answer.headers.etag]).toEqual([status, OLD.etag]);
    if (status === 200) expect(answer.headers["content-length"]).toBe(String(OLD.body.length));
    expect(replicas.requests()).toBe(1);
  });

  test("passes other methods on, and stores nothing of them", async () => {
    const { nginx, replicas } = await startCachedReplicas(RECOMMENDED_CONF, { cors: true });
    const post = await ask(nginx.origin, { method: "POST" });
    expect([post.status, post.headers.allow, post.headers["cache-control"]]).toEqual([405, "GET, HEAD", "no-store"]);
    const preflight = await ask(nginx.origin, {
      method: "OPTIONS",
      headers: {
        Origin: "https://spa.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "if-none-match",
      },
    });
    expect([
      preflight.status,
      preflight.headers["access-control-allow-origin"],
      preflight.headers["access-control-allow-headers"],
    ]).toEqual([204, "*", "if-none-match"]);
    const got = await ask(nginx.origin);
    expect([got.status, got.headers["access-control-allow-origin"], replicas.requests()]).toEqual([200, "*", 3]);
  });

  test("makes one request of fifty at once for a set that it does not have", async () => {
    const { nginx, replicas } = await startCachedReplicas(RECOMMENDED_CONF);
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(nginx.origin)));
    expect(new Set(answers.map(textOf))).toEqual(new Set([textOf(OLD)]));
    expect(replicas.requests()).toBe(1);
  });

  test("does not store the failure of replicas without keys", async () => {
    const { nginx, publish } = await startCachedReplicas(RECOMMENDED_CONF);
    publish(undefined);
    expect((await ask(nginx.origin)).status).toBe(500);
    publish(OLD_SET);
    expect((await ask(nginx.origin)).status).toBe(200);
  });

  test("goes on with another replica when one has crashed", async () => {
    const { nginx, replicas } = await startCachedReplicas(RECOMMENDED_CONF);
    replicas.all[0]?.crash();
    const statuses = [];
    for (let index = 0; index < 4; index += 1) {
      statuses.push((await ask(nginx.origin, { headers: { "Cache-Control": "no-cache" } })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200]);
  });
});

describe("stale-while-revalidate", () => {
  test("gives the old set at once and fetches the new one behind it, up to two hours", async () => {
    const { nginx, replicas, publish, at } = await startCachedReplicas(RECOMMENDED_CONF);
    await ask(nginx.origin);
    publish(NEW_SET);
    await at(7199);
    expect(textOf(await ask(nginx.origin))).toBe(textOf(OLD));
    await eventually(async () => textOf(await ask(nginx.origin)) === textOf(NEW));
    expect(replicas.requests()).toBe(2);
  });

  test("ends after two hours: then the new set is waited for", async () => {
    const { nginx, publish, at } = await startCachedReplicas(RECOMMENDED_CONF);
    await ask(nginx.origin);
    publish(NEW_SET);
    await at(7201);
    expect(textOf(await ask(nginx.origin))).toBe(textOf(NEW));
  });

  test("bridges an outage of all replicas for as long, and no longer", async () => {
    const { nginx, replicas, at } = await startCachedReplicas(RECOMMENDED_CONF);
    await ask(nginx.origin);
    for (const replica of replicas.all) replica.crash();
    await at(7199);
    expect((await ask(nginx.origin)).status).toBe(200);
    await at(7201);
    expect((await ask(nginx.origin)).status).toBe(502);
    for (const replica of replicas.all) replica.recover();
    expect((await ask(nginx.origin)).status).toBe(200);
  });
});

describe("must-revalidate", () => {
  test("is fresh for five minutes, and then waited for", async () => {
    const { nginx, publish, rotating, at } = await startCachedReplicas(RECOMMENDED_CONF);
    rotating(true);
    expect((await ask(nginx.origin)).headers["cache-control"]).toBe(ROTATION_CACHE);
    publish(NEW_SET);
    await at(299);
    expect(textOf(await ask(nginx.origin))).toBe(textOf(OLD));
    await at(301);
    expect(textOf(await ask(nginx.origin))).toBe(textOf(NEW));
  });

  test("means no stale set while no replica answers", async () => {
    const { nginx, replicas, rotating, at } = await startCachedReplicas(RECOMMENDED_CONF);
    rotating(true);
    await ask(nginx.origin);
    for (const replica of replicas.all) replica.crash();
    await at(301);
    expect((await ask(nginx.origin)).status).toBe(502);
  });

  test("is broken by proxy_cache_use_stale: a stale set in the middle of a rotation", async () => {
    const conf = defaultCache("proxy_cache_use_stale error timeout updating; proxy_cache_background_update on;");
    const { nginx, publish, rotating, at } = await startCachedReplicas(conf);
    rotating(true);
    await ask(nginx.origin);
    publish(NEW_SET);
    await at(86_400);
    expect(textOf(await ask(nginx.origin))).toBe(textOf(OLD));
  });
});

describe("an unknown kid behind the cache", () => {
  const refetch = { headers: { "Cache-Control": "no-cache" } };

  test("reaches a replica with the recommended configuration, and what it fetches is stored for everybody", async () => {
    const { nginx, replicas, publish } = await startCachedReplicas(RECOMMENDED_CONF);
    await ask(nginx.origin);
    publish(NEW_SET);
    expect(textOf(await ask(nginx.origin))).toBe(textOf(OLD));
    expect(textOf(await ask(nginx.origin, refetch))).toBe(textOf(NEW));
    expect(textOf(await ask(nginx.origin))).toBe(textOf(NEW));
    expect(replicas.requests()).toBe(2);
  });

  test("gets the set that it knows with nginx's default, for up to an hour: only an announcement helps", async () => {
    const { nginx, replicas, publish, at } = await startCachedReplicas(defaultCache());
    await ask(nginx.origin);
    publish(NEW_SET);
    await at(3599);
    expect(textOf(await ask(nginx.origin, refetch))).toBe(textOf(OLD));
    expect(replicas.requests()).toBe(1);
    await at(3601);
    expect(textOf(await ask(nginx.origin, refetch))).toBe(textOf(NEW));
  });

  test("a bypass with the ETag of a warm cache is answered 304 by nginx, from a fresh 200", async () => {
    const { nginx, replicas } = await startCachedReplicas(RECOMMENDED_CONF);
    const { headers } = await ask(nginx.origin);
    const warm = { "If-None-Match": headers.etag ?? "", "Cache-Control": "max-age=0" };
    expect((await ask(nginx.origin, { headers: warm })).status).toBe(304);
    expect(replicas.requests()).toBe(2);
    expect(replicas.all.flatMap(({ requests }) => requests.map((seen) => seen.headers["if-none-match"]))).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe("proxy_cache_revalidate", () => {
  test("brings 304 from the relying party to the replica and back", async () => {
    const { nginx, replicas, at } = await startCachedReplicas(defaultCache("proxy_cache_revalidate on;"));
    const { headers } = await ask(nginx.origin);
    await at(7201);
    const answer = await ask(nginx.origin, { headers: { "If-None-Match": headers.etag ?? "" } });
    expect(answer.status).toBe(304);
    const seen = replicas.all.flatMap(({ requests }) => requests.map((request) => request.headers["if-none-match"]));
    expect(new Set(seen)).toEqual(new Set([OLD.etag, undefined]));
    expect(seen).toHaveLength(2);
  });

  test("keeps the Cache-Control that was stored with the body, so it is not recommended", async () => {
    const { nginx, rotating, at } = await startCachedReplicas(defaultCache("proxy_cache_revalidate on;"));
    rotating(true);
    await ask(nginx.origin);
    rotating(false);
    await at(301);
    expect((await ask(nginx.origin)).headers["cache-control"]).toBe(ROTATION_CACHE);
  });

  test("while the recommended configuration has the endpoint's current one", async () => {
    const { nginx, rotating, at } = await startCachedReplicas(RECOMMENDED_CONF);
    rotating(true);
    await ask(nginx.origin);
    rotating(false);
    await at(301);
    expect((await ask(nginx.origin)).headers["cache-control"]).toBe(LONG_CACHE);
  });
});
