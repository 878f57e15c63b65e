import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { ProbeRequest } from "../../src/check/exchange.ts";
import { changed, check, differences, judged, EC_KEY, JWKS_URI, LONG, NOW, op } from "./support/op.ts";
import type { Op, Reply } from "./support/op.ts";

// An endpoint with one fault, and the verdicts of all rules that it changes. Each verdict was decided by hand from the clause.

type Verdicts = Readonly<Record<string, string>>;
type Fits = (request: ProbeRequest) => boolean;

const isSet: Fits = ({ url }) => url.startsWith(JWKS_URI);
const isHead: Fits = ({ method }) => method === "HEAD";
const isPost: Fits = ({ method }) => method === "POST";
const isConditional: Fits = ({ headers }) => headers["if-none-match"] !== undefined;
const hasTag =
  (pattern: RegExp): Fits =>
  (request) =>
    pattern.test(request.headers["if-none-match"] ?? "");
const accepts =
  (type: string): Fits =>
  ({ url, headers }) =>
    url === JWKS_URI && headers["accept"] === type;
const isCoded: Fits = ({ headers }) => headers["accept-encoding"] === "gzip";

const headers =
  (more: Reply["headers"]) =>
  (reply: Reply): Reply => ({ ...reply, headers: { ...reply.headers, ...more } });
/** As a proxy does that adds what is already there. */
const twice =
  (...names: readonly string[]) =>
  (reply: Reply): Reply => {
    const repeated = names.flatMap((name) => {
      const value = reply.headers[name];
      return typeof value === "string" ? [[name, [value, value]]] : [];
    });
    return { ...reply, headers: { ...reply.headers, ...Object.fromEntries(repeated) } };
  };
const status =
  (code: number, more: Reply["headers"] = {}) =>
  (): Reply => ({ status: code, headers: more });
const TEXT = JSON.stringify({ keys: [EC_KEY] });
/** The set, whatever was asked. */
const theSet = (reply: Reply): Reply => {
  const body = { "content-type": "application/jwk-set+json", "content-length": `${TEXT.length}` };
  return { status: 200, headers: { ...reply.headers, ...body }, body: TEXT };
};
const withoutTag = changed(changed(op(), isConditional, theSet), isSet, headers({ etag: undefined }));

/** What an endpoint without an ETag leaves of the rules. */
const NO_TAG = {
  etag: "should",
  "304-exact": "skipped",
  "304-list": "skipped",
  "304-weak": "skipped",
  "304-head": "skipped",
  "304-headers": "skipped",
};

/** What is left of the rules when only the first GET is answered. */
const LIMITED = Object.fromEntries(
  [
    "stable",
    "head",
    "304-exact",
    "304-star",
    "304-list",
    "304-weak",
    "304-head",
    "304-other",
    "304-headers",
    "method",
    "accept",
    "compression",
  ].map((rule) => [rule, "skipped"]),
);

/** Changes the answers to GETs by their count, and all others. */
function counting(
  change: (reply: Reply, count: number) => Reply,
  others: (reply: Reply) => Reply = (reply) => reply,
): Op {
  let count = 0;
  const isPlain: Fits = ({ method, headers: sent, url }) =>
    url === JWKS_URI && method === "GET" && sent["if-none-match"] === undefined;
  const base = changed(op(), (request) => isSet(request) && !isPlain(request), others);
  return changed(base, isPlain, (reply) => change(reply, (count += 1)));
}

test.each<readonly [string, Op, Verdicts]>([
  ["no ETag, no 304", withoutTag, { ...NO_TAG, "304-star": "must" }],
  ["no ETag, 304 for *", changed(op(), isSet, headers({ etag: undefined })), NO_TAG],
  [
    "an ETag and a media type that are sent twice",
    changed(op(), isSet, twice("etag", "content-type", "cache-control")),
    { etag: "must", "media-type": "must" },
  ],
  ["an ETag without quotes", op({ headers: { etag: "abc" } }), { ...NO_TAG, etag: "must" }],
  [
    "a weak ETag that is compared by bytes",
    changed(
      op({ headers: { etag: 'W/"a"' } }),
      hasTag(/W\/"a"/),
      status(304, { etag: 'W/"a"', "cache-control": LONG }),
    ),
    { etag: "note", "304-weak": "skipped" },
  ],
  [
    "another ETag each time",
    counting((reply, count) => headers({ etag: `"${count}"` })(reply)),
    {
      stable: "should",
      head: "should",
      "304-exact": "skipped",
      "304-list": "skipped",
      "304-head": "skipped",
      "304-headers": "skipped",
    },
  ],
  [
    "two sets under one ETag",
    counting((reply, count) => (count > 1 ? { ...reply, body: `${TEXT} ` } : reply)),
    { stable: "must" },
  ],
  [
    "the set changes during the check",
    counting((reply, count) =>
      count > 4 ? { ...reply, body: `${TEXT} `, headers: { ...reply.headers, etag: '"b"' } } : reply,
    ),
    { stable: "note" },
  ],

  ["HEAD 405", changed(op(), isHead, status(405, { allow: "GET" })), { head: "must", "304-head": "must" }],
  ["HEAD 404", changed(op(), (request) => isHead(request) && !isConditional(request), status(404)), { head: "must" }],
  [
    "HEAD without ETag",
    changed(op(), (request) => isHead(request) && !isConditional(request), headers({ etag: undefined })),
    { head: "should" },
  ],
  ["HEAD with another lifetime", changed(op(), isHead, headers({ "cache-control": "no-store" })), { head: "should" }],
  ["HEAD with Content-Length: 0", changed(op(), isHead, headers({ "content-length": "0" })), { head: "must" }],

  [
    "200 for the ETag",
    changed(op(), hasTag(/^"[0-9a-f]{64}"$/), theSet),
    { "304-exact": "must", "304-head": "must", "304-headers": "skipped" },
  ],
  ["200 for *", changed(op(), hasTag(/^\*$/), theSet), { "304-star": "must" }],
  ["412 for *", changed(op(), hasTag(/^\*$/), status(412)), { "304-star": "must" }],
  ["200 for a list", changed(op(), hasTag(/,/), theSet), { "304-list": "must" }],
  ["304 for the weak form", changed(op(), hasTag(/^W/), status(304, { etag: '"x"' })), { "304-weak": "ok" }],
  ["500 for the weak form", changed(op(), hasTag(/^W/), status(500)), { "304-weak": "must" }],
  [
    "200 for a conditional HEAD",
    changed(op(), (request) => isHead(request) && isConditional(request), theSet),
    { "304-head": "must" },
  ],
  [
    "304 for every ETag",
    changed(op(), isConditional, status(304, { etag: '"x"', "cache-control": LONG })),
    { "304-other": "must", "304-headers": "should", "304-weak": "ok" },
  ],
  [
    "a 304 without Cache-Control",
    changed(op(), hasTag(/^"[0-9a-f]{64}"$/), headers({ "cache-control": undefined })),
    { "304-headers": "must" },
  ],
  [
    "a 304 without ETag",
    changed(op(), hasTag(/^"[0-9a-f]{64}"$/), headers({ etag: undefined })),
    { "304-headers": "must" },
  ],
  [
    "a 304 without Vary",
    changed(op({ headers: { vary: "Accept-Encoding" } }), hasTag(/^"[0-9a-f]{64}"$/), headers({ vary: undefined })),
    { "304-headers": "must" },
  ],
  [
    "a 304 with another lifetime",
    changed(op(), hasTag(/^"[0-9a-f]{64}"$/), headers({ "cache-control": "max-age=1" })),
    { "304-headers": "should" },
  ],
  [
    "a 304 with Content-Type",
    changed(op(), hasTag(/^"[0-9a-f]{64}"$/), headers({ "content-type": "text/html" })),
    { "304-headers": "note" },
  ],

  ["405 without Allow", changed(op(), isPost, status(405)), { method: "must" }],
  ["Allow without HEAD", changed(op(), isPost, status(405, { allow: "GET" })), { method: "should" }],
  ["Allow with more methods", changed(op(), isPost, status(405, { allow: "OPTIONS,GET , HEAD" })), {}],
  ["POST 404", changed(op(), isPost, status(404)), { method: "should" }],
  ["POST gets the set", changed(op(), isPost, theSet), { method: "should" }],
  [
    "POST is not answered",
    changed(op(), isPost, () => ({ reason: "connection", detail: "ECONNRESET" })),
    { method: "should" },
  ],
  [
    "406 for the registered type",
    changed(op(), accepts("application/jwk-set+json"), status(406)),
    { accept: "should" },
  ],
  ["406 for application/json", changed(op(), accepts("application/json"), status(406)), { accept: "should" }],

  ["compressed, with its own ETag that is revalidated", coded({ etag: '"z"', vary: "accept-encoding" }, 304), {}],
  [
    "compressed, with its own ETag that is not",
    coded({ etag: '"z"', vary: "accept-encoding" }, 200),
    { compression: "should" },
  ],
  ["compressed, without Vary", coded({ etag: '"z"' }, 304), { compression: "should" }],
  ["compressed, with the same strong ETag", coded({ vary: "Accept-Encoding" }, 304), { compression: "must" }],
  ["compressed, without ETag", coded({ etag: undefined, vary: "Accept-Encoding" }, 200), { compression: "should" }],
  ["a cookie", op({ headers: { "set-cookie": "a=b" } }), { cookies: "note" }],

  [
    "no Cache-Control",
    op({ headers: { "cache-control": undefined } }),
    { lifetime: "should", announcement: "skipped" },
  ],
  ["only public", op({ headers: { "cache-control": "public" } }), { lifetime: "should", announcement: "skipped" }],
  ["no-store", op({ headers: { "cache-control": "no-store" } }), { lifetime: "note" }],
  ["max-age=0", op({ headers: { "cache-control": "max-age=0" } }), { lifetime: "note" }],
  ["two values of max-age", op({ headers: { "cache-control": ["max-age=60", "max-age=600"] } }), { lifetime: "must" }],
  ["max-age with a fraction", op({ headers: { "cache-control": "max-age=60.5" } }), { lifetime: "must" }],
  [
    "directives with semicolons, which no cache reads",
    op({ headers: { "cache-control": "no-store; no-cache" } }),
    { lifetime: "must", announcement: "skipped" },
  ],
  ["a semicolon after max-age", op({ headers: { "cache-control": "max-age=60; public" } }), { lifetime: "must" }],
  ["max-age in quotes", op({ headers: { "cache-control": 'public, Max-Age="60"' } }), { lifetime: "must" }],
  ["another directive in quotes", op({ headers: { "cache-control": 'max-age=60, x="max-age="' } }), {}],
  ["a day and a second", op({ headers: { "cache-control": "max-age=86401" } }), { announcement: "should" }],
  [
    "a day with stale time",
    op({ headers: { "cache-control": "max-age=86400, stale-while-revalidate=1" } }),
    { announcement: "should" },
  ],
  ["a day", op({ headers: { "cache-control": "max-age=86400" } }), {}],
  ["immutable", op({ headers: { "cache-control": "max-age=60, immutable" } }), { lifetime: "should" }],
  ["older than its lifetime", op({ headers: { age: "7201" } }), { age: "should" }],
  [
    "older than must-revalidate allows",
    op({ headers: { "cache-control": "max-age=300, must-revalidate", age: "301" } }),
    { age: "must" },
  ],
  ["within s-maxage", op({ headers: { "cache-control": "max-age=60, s-maxage=600", age: "500" } }), {}],
  ["Vary: *", op({ headers: { vary: "*" } }), { vary: "should" }],
  ["Vary: Origin", op({ headers: { vary: "Origin" } }), { vary: "note" }],
  [
    "a clock that is 10 minutes ahead",
    op({ headers: { date: new Date(NOW + 600_000).toUTCString() } }),
    { clock: "note" },
  ],
  ["an old Date from a cache", op({ headers: { date: new Date(NOW - 600_000).toUTCString(), age: "600" } }), {}],
  ["no Date", op({ headers: { date: undefined } }), { clock: "skipped" }],

  ["a self-signed certificate", op({ tls: { fault: "DEPTH_ZERO_SELF_SIGNED_CERT" } }), { certificate: "must" }],
  ["a certificate for two days", op({ tls: { validUntil: NOW + 2 * 86_400_000 } }), { certificate: "note" }],
  ["TLS 1.1", op({ tls: { protocol: "TLSv1.1" } }), { "tls-version": "must" }],
  ["an answer after 6 seconds", changed(op(), isSet, (reply) => ({ ...reply, tookMs: 6000 })), { time: "note" }],
  ["a body after HEAD", changed(op(), isHead, (reply) => ({ ...reply, strayBytes: 2 })), { head: "must" }],
  [
    "a body after a 304",
    changed(op(), hasTag(/^"[0-9a-f]{64}"$/), (reply) => ({ ...reply, strayBytes: 2 })),
    { "304-headers": "must" },
  ],
  [
    "the lifetime changes before HEAD",
    counting(
      (reply, count) => (count > 1 ? headers({ "cache-control": "max-age=300" })(reply) : reply),
      headers({ "cache-control": "max-age=300" }),
    ),
    {},
  ],
  [
    "too many requests after the first",
    counting((reply, count) => (count > 1 ? { status: 429, headers: {} } : reply), status(429)),
    LIMITED,
  ],
  [
    "bytes that are not UTF-8",
    changed(op(), isSet, (reply) => ({ ...reply, body: Buffer.from([0x7b, 0xff, 0x7d]) })),
    expect.objectContaining({ "jwks-json": "must" }),
  ],
])("%s", async (_name, server, expected) => {
  const { verdicts, words } = await judged(server);
  expect(verdicts).toEqual(expected);
  expect(words).toMatchSnapshot();
});

function coded(more: Reply["headers"], revalidated: number): Op {
  const compressed = changed(op(), isCoded, headers({ "content-encoding": "gzip", ...more }));
  return changed(compressed, (request) => isCoded(request) && isConditional(request), status(revalidated));
}

test.each<readonly [string, Op, Verdicts]>([
  ["a redirect", redirected(JWKS_URI, "https://cdn.example/jwks"), { redirect: "should" }],
  ["status 500", changed(op(), isSet, status(500)), { reachable: "must" }],
  [
    "a redirect that does not end",
    changed(op(), isSet, status(302, { location: JWKS_URI })),
    { reachable: "must", redirect: "should" },
  ],
  ["no TLS 1.2", failing("tls", "ERR_SSL_UNSUPPORTED_PROTOCOL"), { reachable: "must", "tls-version": "must" }],
  ["another TLS failure", failing("tls", "ECONNRESET"), { reachable: "must" }],
  ["not HTTP", failing("not-http", "HPE_INVALID_CONSTANT"), { reachable: "must" }],
  ["no time left", failing("time", "10 s"), { reachable: "must" }],
])("the key set has %s", async (_name, server, expected) => {
  const { verdicts, words } = await judged(server);
  const changes = Object.entries(verdicts).filter(([, verdict]) => verdict !== "skipped");
  expect(Object.fromEntries(changes)).toEqual(expected);
  expect(words).toMatchSnapshot();
});

function redirected(from: string, to: string): Op {
  const base = op();
  return (request) => {
    if (request.url === from) return { status: 301, headers: { location: to } };
    return base(request.url === to ? { ...request, url: JWKS_URI } : request);
  };
}

function failing(reason: "tls" | "not-http" | "time", detail: string): Op {
  return changed(op(), isSet, () => ({ reason, detail }));
}

/** The set with a coding, whatever was asked for. */
const alwaysCoded = (coding: string, body: Uint8Array): Op => {
  const isWithBody: Fits = (request) => isSet(request) && !isPost(request);
  return changed(op(), isWithBody, (reply, { method }) => {
    if (reply.status !== 200) return reply;
    const more = { "content-encoding": coding, "content-length": `${body.length}` };
    return headers(more)({ ...reply, body: method === "HEAD" ? "" : body });
  });
};

test.each<readonly [string, Op, Verdicts]>([
  ["gzip", alwaysCoded("gzip", gzipSync(TEXT)), { compression: "should" }],
  ["deflate", alwaysCoded("deflate", deflateSync(TEXT)), { compression: "should" }],
  ["br", alwaysCoded("BR", brotliCompressSync(TEXT)), { compression: "should" }],
])("a set that is always compressed with %s is read, and that is the only finding", async (_name, server, verdicts) => {
  expect(await differences(server)).toEqual(verdicts);
});

test.each<readonly [string, Op, string]>([
  ["too long", alwaysCoded("gzip", gzipSync(Buffer.alloc(2_000_000))), "the body is too long to read"],
  [
    "not gzip",
    alwaysCoded("gzip", Buffer.from(TEXT)),
    "the body does not have the content coding that its header names",
  ],
  ["of another coding", alwaysCoded("zstd", Buffer.from(TEXT)), "the body has a content coding that is not known here"],
])("a compressed body that is %s is named", async (_name, server, seen) => {
  const { rows } = await check(server);
  expect(rows.find(({ rule }) => rule === "jwks-json")).toMatchObject({ verdict: "must", findings: [{ seen }] });
});
