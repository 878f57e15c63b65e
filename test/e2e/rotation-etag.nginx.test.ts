import { gunzipSync } from "node:zlib";
import { RECOMMENDED_CONF } from "@signpost/test-backends/nginx";
import { describe, expect, test } from "vitest";
import { ask } from "./support/ask.ts";
import {
  defaultCache,
  LONG_CACHE,
  NEW,
  NEW_SET,
  OLD,
  proxyOnly,
  startCachedReplicas,
  textOf,
} from "./support/cached-replicas.ts";

// What nginx does to the ETag in transit, with and without its cache.

const GZIP = "gzip on; gzip_types application/jwk-set+json; gzip_min_length 1; gzip_proxied any;";

describe("gzip in nginx", () => {
  const compressed = { "Accept-Encoding": "gzip" };

  test.each([
    ["ignore", 200],
    ["match", 304],
  ] as const)(
    'makes the ETag weak; weakIfNoneMatch "%s" then answers a warm cache with %d',
    async (weakIfNoneMatch, status) => {
      const { nginx } = await startCachedReplicas(proxyOnly(GZIP), { weakIfNoneMatch });
      const first = await ask(nginx.origin, { headers: compressed });
      expect([first.headers["content-encoding"], first.headers.etag]).toEqual(["gzip", `W/${OLD.etag}`]);
      expect(gunzipSync(first.body).toString()).toBe(textOf(OLD));
      const warm = await ask(nginx.origin, {
        headers: { ...compressed, "If-None-Match": first.headers.etag ?? "" },
      });
      expect(warm.status).toBe(status);
      // Both are right: the full answer is the same set.
      if (status === 200) expect(gunzipSync(warm.body).toString()).toBe(textOf(OLD));
    },
  );

  test.each(["ignore", "match"] as const)(
    'with nginx as the cache a weak ETag is answered 304 by nginx itself, also with "%s"',
    async (weakIfNoneMatch) => {
      const { nginx, replicas } = await startCachedReplicas(defaultCache(GZIP), { weakIfNoneMatch });
      const first = await ask(nginx.origin, { headers: compressed });
      const warm = { ...compressed, "If-None-Match": first.headers.etag ?? "" };
      expect([first.headers.etag, (await ask(nginx.origin, { headers: warm })).status]).toEqual([`W/${OLD.etag}`, 304]);
      expect(replicas.requests()).toBe(1);
    },
  );

  test("a changed set is never taken for the old one, in either mode", async () => {
    for (const weakIfNoneMatch of ["ignore", "match"] as const) {
      const { nginx, publish } = await startCachedReplicas(proxyOnly(GZIP), { weakIfNoneMatch });
      const first = await ask(nginx.origin, { headers: compressed });
      publish(NEW_SET);
      const warm = { ...compressed, "If-None-Match": first.headers.etag ?? "" };
      const answer = await ask(nginx.origin, { headers: warm });
      expect([answer.status, gunzipSync(answer.body).toString()]).toEqual([200, textOf(NEW)]);
    }
  });

  test("the recommended configuration leaves the answer and its ETag alone, where gzip is on for all the rest", async () => {
    const { nginx } = await startCachedReplicas({ ...RECOMMENDED_CONF, http: `${GZIP} ${RECOMMENDED_CONF.http}` });
    const { headers, body } = await ask(nginx.origin, { headers: compressed });
    expect([headers["content-encoding"], headers.etag, body.toString()]).toEqual([undefined, OLD.etag, textOf(OLD)]);
  });
});

test("a reverse proxy without a cache carries 304 end to end", async () => {
  const { nginx, replicas } = await startCachedReplicas(proxyOnly());
  const { headers } = await ask(nginx.origin);
  for (const method of ["GET", "HEAD"]) {
    const answer = await ask(nginx.origin, { method, headers: { "If-None-Match": headers.etag ?? "" } });
    expect([answer.status, answer.headers.etag, answer.headers["cache-control"]]).toEqual([304, OLD.etag, LONG_CACHE]);
  }
  expect(replicas.requests()).toBe(3);
});
