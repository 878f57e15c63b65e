import { describe, expect, test } from "vitest";
import type { ProbeRequest } from "../../src/check/exchange.ts";
import type { CheckAs, Op, Reply } from "./support/op.ts";
import { changed, check, EC_KEY, ED_KEY, ISSUER, json, JWKS_URI, op, RSA_KEY } from "./support/op.ts";

// What a rule says when an answer is missing, when two answers differ, and of long text.

type Fits = (request: ProbeRequest) => boolean;

const isSet: Fits = ({ url }) => url.startsWith(JWKS_URI);
const hasTag =
  (pattern: RegExp): Fits =>
  ({ headers }) =>
    pattern.test(headers["if-none-match"] ?? "");
const isExact: Fits = (request) => request.method === "GET" && hasTag(/^"[0-9a-f]{64}"$/)(request);
const by =
  (method: string): Fits =>
  (request) =>
    isSet(request) && request.method === method;
const isPlainGet: Fits = ({ method, url, headers }) =>
  url === JWKS_URI && method === "GET" && headers["if-none-match"] === undefined;
const headers =
  (more: Reply["headers"]) =>
  (reply: Reply): Reply => ({ ...reply, headers: { ...reply.headers, ...more } });
const status = (code: number) => (): Reply => ({ status: code, headers: {} });
const lost = (): ReturnType<Op> => ({ reason: "connection", detail: "ECONNRESET" });

/** What one rule says: why it was skipped, or what it saw and found. */
async function said(rule: string, server: Op, as: CheckAs = {}): Promise<readonly string[]> {
  const { rows } = await check(server, as);
  const row = rows.find((one) => one.rule === rule);
  const all = [row?.verdict === "skipped" ? `skipped: ${row.seen}` : (row?.seen ?? "no such rule")];
  return [
    ...all.filter((text) => text !== ""),
    ...(row?.findings ?? []).map(({ severity, seen }) => `${severity}: ${seen}`),
  ];
}

/** The last plain GET of the set is the one that asks again. */
function onLastGet(base: Op, change: (reply: Reply) => ReturnType<Op>, last = 5): Op {
  let count = 0;
  return changed(base, isPlainGet, (reply) => ((count += 1) < last ? reply : change(reply)));
}

const RESET = "no connection (ECONNRESET)";

describe("a request that is not answered", () => {
  test.each<[rule: string, fits: Fits, said: readonly string[]]>([
    ["304-exact", isExact, [`must: ${RESET}`]],
    ["304-star", hasTag(/^\*$/), [`must: ${RESET}`]],
    ["304-list", hasTag(/,/), [`must: ${RESET}`]],
    ["304-weak", hasTag(/^W/), [`must: ${RESET}`]],
    ["304-other", hasTag(/^"signpost-check"$/), [`must: ${RESET}`]],
    ["304-headers", isExact, ["skipped: no 304"]],
    ["head", by("HEAD"), [`must: HEAD: ${RESET}`]],
    ["method", by("POST"), [`should: POST: ${RESET}`]],
    [
      "accept",
      ({ headers: { accept = "" } }) => accept === "application/jwk-set+json",
      [`should: Accept: application/jwk-set+json: ${RESET}`],
    ],
    ["compression", ({ headers: sent }) => sent["accept-encoding"] === "gzip", ["skipped: not asked"]],
  ])("is what %s says", async (rule, fits, expected) => {
    expect(await said(rule, changed(op(), fits, lost))).toEqual(expected);
  });

  test("the second time leaves the first answer to compare with", async () => {
    const server = onLastGet(op(), lost);
    expect(await said("stable", server)).toEqual(["skipped: not asked"]);
    expect(await said("head", onLastGet(op(), lost))).toEqual([]);
    expect(await said("304-headers", onLastGet(op(), lost))).toEqual([]);
    const strict = changed(onLastGet(op(), lost), ({ url }) => url.includes("?"), headers({ etag: '"q"' }));
    expect(await said("signpost-query", strict, { isStrict: true })).toEqual([
      expect.stringMatching(/^must: etag: "q", expected "[0-9a-f]{64}" or "[0-9a-f]{64}"$/),
    ]);
  });

  test("because there were too many is told as such", async () => {
    const busy = changed(op(), (request) => isSet(request) && !isPlainGet(request), status(429));
    expect(await said("method", busy)).toEqual(["skipped: the server limits requests: 429"]);
    expect(await said("signpost-query", busy, { isStrict: true })).toEqual([
      "skipped: the server limits requests: 429",
    ]);
    expect(await said("signpost-weak", busy, { isStrict: true })).toEqual(["skipped: the server limits requests: 429"]);
    expect(await said("signpost-405", busy, { isStrict: true })).toEqual([]);
  });

  test("for one of the two media types, because there were too many, is not judged", async () => {
    for (const type of ["application/jwk-set+json", "application/json"]) {
      const busy = changed(op(), ({ url, headers: { accept } }) => url === JWKS_URI && accept === type, status(429));
      expect(await said("accept", busy)).toEqual(["skipped: the server limits requests: 429"]);
    }
  });
});

describe("a 304", () => {
  const with304 = (more: Reply["headers"], base: Op = op()): Op =>
    changed(base, isSet, (reply) => (reply.status === 304 ? headers(more)(reply) : reply));

  test.each(["etag", "cache-control", "content-location", "expires", "vary"])("must repeat %s", async (name) => {
    const value = name === "etag" ? {} : { [name]: "a" };
    expect(await said("304-headers", with304({ [name]: undefined }, op({ headers: value })))).toEqual([
      `must: no ${name}`,
    ]);
  });

  test.each(["content-type", "content-length", "content-encoding"])("should not have %s", async (name) => {
    expect(await said("304-headers", with304({ [name]: "1" }))).toEqual([`note: has ${name}`]);
  });

  test("may have another Expires, since it moves with the clock", async () => {
    const expiring = op({ headers: { expires: "Sun, 01 Nov 2026 13:00:00 GMT" } });
    expect(await said("304-headers", with304({ expires: "Sun, 01 Nov 2026 13:00:05 GMT" }, expiring))).toEqual([]);
  });

  test("may have the value of the second answer, as when a lifetime changes during the check", async () => {
    const short = { "cache-control": "max-age=60" };
    expect(await said("304-headers", onLastGet(with304(short), headers(short)))).toEqual([]);
    expect(await said("304-headers", onLastGet(with304(short), headers({ "cache-control": "max-age=61" })))).toEqual([
      expect.stringMatching(/^should: cache-control: max-age=60 instead of public, /),
    ]);
  });

  test("is wrong for another ETag than that of the set, and so is any answer but the set", async () => {
    const other = hasTag(/^"signpost-check"$/);
    expect(await said("304-other", changed(op(), other, status(304)))).toEqual(["must: status 304"]);
    expect(await said("304-other", changed(op(), other, status(500)))).toEqual(["must: status 500"]);
  });
});

describe("the contract of Signpost", () => {
  const strict = { isStrict: true };

  test("takes the ETag of the second answer for that of a query, as when the set changes during the check", async () => {
    const next = headers({ etag: '"next"' });
    const isQuery: Fits = ({ url }) => url.includes("?");
    expect(await said("signpost-query", changed(onLastGet(op(), next), isQuery, next), strict)).toEqual([]);
  });

  test("names legacy keys with their algorithm", async () => {
    const keys = [EC_KEY, RSA_KEY, ED_KEY];
    expect(await said("signpost-body", op({ keys }), strict)).toEqual([
      "note: key rsa-1: a legacy RS256 key",
      "note: key ed-1: a legacy EdDSA key",
    ]);
  });

  test.each<[what: string, key: object, said: readonly string[]]>([
    [
      "for encryption",
      { ...RSA_KEY, use: "enc" },
      [
        "must: the first key is not an ES256 signing key",
        "must: the keys are not in the order: ES256, legacy, encryption",
      ],
    ],
    [
      "without a use",
      { ...RSA_KEY, use: undefined },
      [
        "must: the first key is not an ES256 signing key",
        "must: the keys are not in the order: ES256, legacy, encryption",
        "must: key rsa-1 is none of the keys that Signpost publishes",
        "must: key rsa-1: expected the members kty, n, e, kid, alg, use",
      ],
    ],
  ])("knows no legacy key %s", async (_what, key, expected) => {
    expect(await said("signpost-body", op({ keys: [key, EC_KEY] }), strict)).toEqual(expected);
  });
});

describe("discovery", () => {
  const OPENID = `${ISSUER}/.well-known/openid-configuration`;
  const metadata = { issuer: ISSUER, jwks_uri: JWKS_URI };
  const at =
    (url: string, reply: Reply): ((base: Op) => Op) =>
    (base) =>
    (request) =>
      request.url === url ? reply : base(request);

  test("tells a redirect first, then the type, and names a missing one", async () => {
    const moved = at(OPENID, { status: 307, headers: { location: `${ISSUER}/config` } });
    const page = at(`${ISSUER}/config`, { ...json(metadata), headers: {} });
    expect(await said("discovery", moved(page(op())))).toEqual([
      "openid-configuration",
      "must: openid-configuration redirects with 307",
      "must: openid-configuration: no Content-Type",
    ]);
  });

  test("of a URL of a key set is not judged", async () => {
    const rules = ["discovery", "issuer", "jwks-uri", "discovery-agrees", "algorithms"];
    const all = await Promise.all(rules.map((rule) => said(rule, op(), { url: JWKS_URI, isKeySet: true })));
    expect(all).toEqual(rules.map(() => ["skipped: the URL is that of the key set"]));
  });

  test("without a document leaves the rules about it", async () => {
    const gone = at(OPENID, { status: 404, headers: {} })(op());
    expect(await said("discovery", gone)).toEqual([
      "must: openid-configuration: status 404; oauth-authorization-server: status 404",
    ]);
    expect(await said("issuer", gone)).toEqual(["skipped: no document"]);
    expect(await said("jwks-uri", gone)).toEqual(["skipped: no document"]);
    expect(await said("discovery-agrees", gone)).toEqual(["skipped: not both documents are there"]);
    expect(await said("algorithms", gone)).toEqual(["skipped: no document or no set"]);
  });

  test("says why a document cannot be read", async () => {
    const reply = { status: 200, headers: {} };
    const bodies = ["", "<html>", "[]", '{"jwks_uri":"a"}'];
    const all = await Promise.all(bodies.map((body) => said("discovery", at(OPENID, { ...reply, body })(op()))));
    expect(all.map(([text]) => text?.split(";")[0])).toEqual([
      "must: openid-configuration: the body is empty",
      "must: openid-configuration: the body is HTML or XML, not JSON",
      "must: openid-configuration: the body is JSON, but not an object",
      'must: openid-configuration: no member "issuer"',
    ]);
  });

  test("names both values of two documents, and none for one that is no text", async () => {
    const other = at(`${ISSUER}/.well-known/oauth-authorization-server`, json({ issuer: "https://as.example" }));
    expect(await said("discovery-agrees", other(op()))).toEqual([
      'must: issuer: "https://op.example" and "https://as.example"',
      'should: jwks_uri: "https://op.example/jwks" and none',
    ]);
  });

  test("may have plain HTTP on a loopback host, and not elsewhere", async () => {
    const announcing = (uri: string): Op => op({ metadata: { jwks_uri: uri } });
    expect(await said("jwks-uri", announcing("http://127.0.0.1:1/jwks"))).toEqual([
      "skipped: plain HTTP on a loopback host",
    ]);
    expect(await said("jwks-uri", announcing("http://op.example/jwks"))).toEqual(["must: http://op.example/jwks"]);
    expect(await said("jwks-uri", announcing("ftp://localhost/jwks"))).toEqual(["must: ftp://localhost/jwks"]);
  });
});

describe("the connection", () => {
  test("without TLS has no certificate to judge", async () => {
    const url = "http://localhost:8080/jwks";
    const server: Op = (request) => op()({ ...request, url: JWKS_URI });
    const all = await Promise.all(
      ["https", "certificate", "tls-version"].map((rule) => said(rule, server, { url, isKeySet: true })),
    );
    expect(all).toEqual([["skipped: plain HTTP on a loopback host"], ["skipped: plain HTTP"], ["skipped: plain HTTP"]]);
  });

  test("that fails has no session", async () => {
    const away = changed(op(), isSet, lost);
    expect(await said("certificate", away)).toEqual(["skipped: no TLS session"]);
    expect(await said("tls-version", away)).toEqual(["skipped: no TLS session"]);
    expect(await said("time", away)).toEqual(["skipped: no answer"]);
    expect(await said("https", away)).toEqual([]);
    expect(await said("redirect", away)).toEqual([]);
  });

  test("to a place that is not known is not judged", async () => {
    const server = op({ metadata: { jwks_uri: undefined } });
    const nowhere: Op = (request) => (isSet(request) ? lost() : server(request));
    const all = await Promise.all(
      ["reachable", "https", "redirect"].map((rule) => said(rule, nowhere, { url: ISSUER })),
    );
    expect(all).toEqual(Array.from({ length: 3 }, () => ["skipped: the URL of the key set is not known"]));
  });

  test.each<[tls: Reply["tls"], certificate: readonly string[]]>([
    [{ validUntil: undefined }, []],
    [{ fault: "CERT_HAS_EXPIRED" }, ["must: the certificate is not valid: CERT_HAS_EXPIRED"]],
    [{ fault: "CERT_HAS_EXPIRED", validUntil: undefined }, ["must: the certificate is not valid: CERT_HAS_EXPIRED"]],
  ])("with %j", async (tls, certificate) => {
    expect(await said("certificate", op({ tls: tls ?? {} }))).toEqual(certificate);
  });

  test.each([
    ["TLSv1.2", ["TLSv1.2"]],
    ["TLSv1.3", ["TLSv1.3"]],
    ["TLSv1", ["must: TLSv1"]],
  ])("by %s", async (protocol, expected) => {
    expect(await said("tls-version", op({ tls: { protocol } }))).toEqual(expected);
  });

  test.each<[reason: "tls" | "name" | "not-allowed" | "time" | "not-http", detail: string, said: string]>([
    ["tls", "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "must: the server offers no TLS 1.2 or later"],
    ["tls", "ERR_SSL_UNSUPPORTED_PROTOCOL", "must: the server offers no TLS 1.2 or later"],
    ["tls", "ECONNRESET", "skipped: no TLS session"],
    ["time", "ERR_SSL_UNSUPPORTED_PROTOCOL", "skipped: no TLS session"],
  ])("that fails by %s with %s", async (reason, detail, expected) => {
    expect(
      await said(
        "tls-version",
        changed(op(), isSet, () => ({ reason, detail })),
      ),
    ).toEqual([expected]);
  });

  test.each<[reason: "tls" | "name" | "not-allowed" | "time" | "not-http" | "connection", words: string]>([
    ["name", "the host name was not found (x)"],
    ["connection", "no connection (x)"],
    ["time", "no complete answer in time (x)"],
    ["tls", "TLS failed (x)"],
    ["not-http", "the answer is not HTTP (x)"],
    ["not-allowed", "not asked: x"],
  ])("that ends by %s is told in words", async (reason, words) => {
    expect(
      await said(
        "reachable",
        changed(op(), isSet, () => ({ reason, detail: "x" })),
      ),
    ).toEqual([`must: ${words}`]);
  });

  test.each([
    [204, "must: status 204"],
    [299, "must: status 299"],
    [300, "must: the redirects do not end at a key set (300)"],
    [399, "must: the redirects do not end at a key set (399)"],
    [400, "must: status 400"],
  ])("that is answered with %i", async (code, expected) => {
    expect(await said("reachable", changed(op(), isSet, status(code)))).toEqual([expected]);
  });

  test("names the slowest rule once, whatever number of answers is slow", async () => {
    const slow = changed(op(), isSet, (reply) => ({ ...reply, tookMs: 9000 }));
    expect(await said("time", slow)).toEqual(["note: GET took 9.0 s"]);
  });
});

describe("the purpose of a key without a use", () => {
  const encryption = { ...RSA_KEY, use: "enc", alg: "RSA-OAEP" };
  test.each<[what: string, more: object, signs: boolean]>([
    ["key_ops verify", { key_ops: ["verify"] }, true],
    ["key_ops sign", { key_ops: ["sign"] }, true],
    ["other key_ops", { key_ops: ["deriveBits"] }, false],
    ["key_ops that is no array, and its alg", { key_ops: "deriveBits", alg: "ES256" }, true],
    ["an alg that signs", { alg: "ES256" }, true],
    ["an alg that encrypts", { alg: "ECDH-ES" }, false],
    ["nothing", { alg: undefined }, true],
  ])("is told by %s", async (_what, more, signs) => {
    const keys = [encryption, { ...EC_KEY, use: undefined, ...more }];
    expect(await said("use", op({ keys }))).toEqual(signs ? ["must: key sig-1 has no use"] : []);
  });
});

describe("long text of a stranger is shortened", () => {
  const coded = (coding: string): Op => changed(op(), isPlainGet, headers({ "content-encoding": coding }));
  const cached = (value: string): Op => op({ headers: { "cache-control": value } });
  const second = (more: object): Op => op({ keys: [EC_KEY, { ...ED_KEY, ...more }] });

  test.each<[rule: string, what: string, limit: number, server: (text: string) => Op]>([
    ["use", "a use", 20, (use) => second({ use })],
    ["alg", "an algorithm", 30, (alg) => second({ alg })],
    ["key-entry", "a type", 20, (kty) => second({ kty })],
    ["key-entry", "a curve", 20, (crv) => second({ crv })],
    ["key-private", "the type of a key with a secret", 20, (kty) => second({ kty, d: "AA" })],
    ["key-private", "a kid", 60, (kid) => second({ kid, d: "AA" })],
    ["compression", "a coding", 20, coded],
    ["member-names", "a name", 40, (name) => op({ text: `{"keys":[],"${name}":1,"${name}":2}` })],
    ["lifetime", "what is no directive", 60, (text) => cached(`max-age=60, @${text.slice(1)}`)],
    ["lifetime", "a value", 60, (text) => cached(`max-age=${text}`)],
  ])("%s: %s beyond %i characters", async (rule, _what, limit, server) => {
    const [whole, longer] = ["z".repeat(limit), "z".repeat(limit + 1)];
    const shown = /[@z]z*…?/;
    const textOf = async (text: string): Promise<string | undefined> =>
      shown.exec((await said(rule, server(text))).at(-1) ?? "")?.[0].replace("@", "z");
    expect(await textOf(whole)).toBe(whole);
    expect(await textOf(longer)).toBe(`${whole}…`);
  });
});

describe("many of a kind", () => {
  test("names that are twice are told up to five", async () => {
    const names = Array.from({ length: 6 }, (_, index) => `n${index}`);
    const text = `{"keys":[],${names.flatMap((name) => [`"${name}":1`, `"${name}":2`]).join(",")}}`;
    expect(await said("member-names", op({ text }))).toEqual(
      names.slice(0, 5).map((name) => `must: "${name}" is there twice`),
    );
  });

  test.each([
    [5, "key k0 and key k1 and key k2 and key k3 and key k4"],
    [6, "key k0 and key k1 and key k2 and key k3 and key k4 and 1 others"],
  ])("%i names of one key are told up to five, and the others counted", async (count, names) => {
    const keys = Array.from({ length: count }, (_, index) => ({ ...EC_KEY, kid: `k${index}` }));
    expect(await said("same-key", op({ keys }))).toEqual([`note: ${names} are the same key`]);
  });

  test.each([
    [1, "should: key 1 has no kid"],
    [2, "must: key 2 has no kid"],
  ])("of %i keys, one without a kid", async (count, expected) => {
    const keys = [EC_KEY, ED_KEY]
      .slice(2 - count)
      .map((key, index) => ({ ...key, kid: index + 1 < count ? "a" : undefined }));
    expect(await said("kid", op({ keys }))).toEqual([expected]);
  });
});
