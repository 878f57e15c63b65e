import { describe, expect, test } from "vitest";
import { askReplicas, readReplicas } from "../../src/check/probe/replicas.ts";
import { differ, judgeReplicas } from "../../src/check/rules/replicas.ts";
import type { Prober } from "../../src/check/probe/prober.ts";
import { changed, ED_KEY, EC_KEY, exchangeOf, JWKS_URI, op, proberOf, wordsOf } from "./support/op.ts";
import type { Op } from "./support/op.ts";

const request = { method: "GET", url: JWKS_URI, headers: {} };
const two = [EC_KEY, ED_KEY];
const withoutKid = ({ kid: _kid, ...others }: (typeof two)[number]): object => others;
const tagged = (server: Op, etag: string): Op =>
  changed(
    server,
    () => true,
    (reply) => ({ ...reply, headers: { ...reply.headers, etag } }),
  );

test.each<readonly [string, readonly Op[], Readonly<Record<string, string>>]>([
  ["are equal", [op(), op(), op()], {}],
  [
    "have another key",
    [op(), op({ keys: two })],
    { "replica-keys": "must", "replica-bytes": "should", "replica-etag": "should" },
  ],
  [
    "have another key under the same kid",
    [op(), op({ keys: [{ ...EC_KEY, x: EC_KEY.y, y: EC_KEY.x }] })],
    { "replica-keys": "must", "replica-bytes": "should", "replica-etag": "should" },
  ],
  [
    "list keys without a kid in another order",
    [op({ keys: two.map(withoutKid) }), op({ keys: two.map(withoutKid).toReversed() })],
    { "replica-bytes": "should", "replica-etag": "should" },
  ],
  [
    "list the keys in another order",
    [op({ keys: two }), op({ keys: two.toReversed() })],
    { "replica-bytes": "should", "replica-etag": "should" },
  ],
  [
    "have other bytes under one ETag",
    [tagged(op({ keys: two }), '"a"'), tagged(op({ keys: two.toReversed() }), '"a"')],
    { "replica-bytes": "must" },
  ],
  [
    "have other bytes under one weak ETag",
    [tagged(op({ keys: two }), 'W/"a"'), tagged(op({ keys: two.toReversed() }), 'W/"a"')],
    { "replica-bytes": "should" },
  ],
  ["have other ETags for the same bytes", [op(), tagged(op(), '"b"')], { "replica-etag": "should" }],
  [
    "have other lifetimes",
    [op(), op({ headers: { "cache-control": "public, max-age=300, must-revalidate" } })],
    { "replica-lifetime": "should" },
  ],
  ["are partly away", [op(), () => ({ reason: "connection", detail: "ECONNREFUSED" })], { "replica-answers": "must" }],
  ["answer 503", [op(), () => ({ status: 503, headers: {} })], { "replica-answers": "must" }],
])("replicas that %s", (_name, servers, expected) => {
  const rows = judgeReplicas(
    servers.map((server, index) => ({ name: `r${index}`, exchange: exchangeOf(server, request) })),
  );
  expect(
    Object.fromEntries(rows.filter(({ verdict }) => verdict !== "ok").map(({ rule, verdict }) => [rule, verdict])),
  ).toEqual(expected);
  expect(wordsOf(rows)).toMatchSnapshot();
});

test("the kid of another key is named, and where it is another one", () => {
  const rows = judgeReplicas([
    { name: "a", exchange: exchangeOf(op({ keys: two }), request) },
    { name: "b", exchange: exchangeOf(op({ keys: [{ ...EC_KEY, x: EC_KEY.y, y: EC_KEY.x }, ED_KEY] }), request) },
  ]);
  const seen = rows.find(({ rule }) => rule === "replica-keys")?.findings.map((finding) => finding.seen);
  expect(seen).toEqual(["key sig-1 is another key at b than at a"]);
});

test("the missing key is named, and where it is missing", () => {
  const rows = judgeReplicas([
    { name: "a", exchange: exchangeOf(op(), request) },
    { name: "b", exchange: exchangeOf(op({ keys: two }), request) },
  ]);
  expect(rows.find(({ rule }) => rule === "replica-keys")?.findings[0]?.seen).toBe("key ed-1 is not at a");
});

test("no replicas, no rows", () => {
  expect(judgeReplicas([])).toEqual([]);
});

test.each<[what: string, servers: readonly Op[], isWorthIt: boolean]>([
  ["no replicas", [], false],
  ["equal ones", [op(), op()], false],
  ["one with another ETag", [op(), tagged(op(), '"b"')], true],
  ["one that is away", [op(), () => ({ reason: "time", detail: "10 s" })], true],
])("a second look at %s", (_what, servers, isWorthIt) => {
  const replicas = servers.map((server, index) => ({ name: `r${index}`, exchange: exchangeOf(server, request) }));
  expect(differ(replicas)).toBe(isWorthIt);
});

test("long names, values and reasons of replicas are shortened", () => {
  const long = (count: number): string => "z".repeat(count);
  const seenOf = (rule: string, servers: readonly Op[], name: string): string | undefined =>
    judgeReplicas(servers.map((server) => ({ name, exchange: exchangeOf(server, request) })))
      .find((row) => row.rule === rule)
      ?.findings.map(({ seen }) => seen)
      .at(-1);
  const away: Op = () => ({ reason: "connection", detail: "E" });
  const busy: Op = () => ({ status: 503, headers: {} });
  expect(seenOf("replica-answers", [away], long(60))).toBe(`${long(60)}: no answer (E)`);
  expect(seenOf("replica-answers", [busy], long(61))).toBe(`${long(60)}…: status 503`);
  const others = [op(), tagged(op({ keys: two }), '"b"')];
  expect(seenOf("replica-bytes", others, long(60))).toBe(`${long(60)} and ${long(60)} differ`);
  expect(seenOf("replica-bytes", others, long(61))).toBe(`${long(60)}… and ${long(60)}… differ`);
  const untagged = op({ headers: { etag: undefined } });
  expect(seenOf("replica-etag", [untagged, tagged(op(), '"b"')], "r")).toBe('r: none; r: "b"');
  expect(seenOf("replica-etag", [tagged(op(), '"b"'), untagged], "r")).toBe('r: "b"; r: none');
});

test("a list of URLs and addresses", () => {
  expect(readReplicas("https://a.example, 10.0.0.7:8443,[::1]:80")).toEqual([
    { name: "https://a.example", url: new URL("https://a.example"), address: undefined },
    { name: "10.0.0.7:8443", url: undefined, address: { host: "10.0.0.7", port: 8443 } },
    { name: "[::1]:80", url: undefined, address: { host: "::1", port: 80 } },
  ]);
});

test("two are enough", () => {
  expect(readReplicas("10.0.0.7:80,10.0.0.8:65535").map(({ name }) => name)).toEqual(["10.0.0.7:80", "10.0.0.8:65535"]);
});

test.each(["https://a.example", "a,b", "a:1,b:70000", "a:1,", "https://u:p@a.example,b:1"])("%j is refused", (list) => {
  expect(() => readReplicas(list)).toThrow(expect.objectContaining({ name: "ConfigurationError" }));
});

describe("replicas are asked", () => {
  const SET = "https://op.example/jwks?v=1";

  /** The URL and the place of each request. */
  async function asked(list: string, jwksUrl: string | undefined, servers: readonly Op[]): Promise<readonly unknown[]> {
    const requests: unknown[] = [];
    const askAt: Prober["askAt"] = async (probe, address) => {
      const server = servers[requests.length] ?? op();
      requests.push(address === undefined ? probe.url : [probe.url, address.host, address.port]);
      return exchangeOf(server, { ...probe, url: JWKS_URI });
    };
    const prober: Prober = { ...proberOf(op()), askAt };
    const answers = await askReplicas(list === "" ? [] : readReplicas(list), jwksUrl, prober);
    return [...requests, answers.length];
  }

  test.each<[list: string, requests: readonly unknown[]]>([
    ["https://a.example,https://b.example/", ["https://a.example/jwks?v=1", "https://b.example/jwks?v=1", 2]],
    ["https://a.example/set,https://b.example/?x", ["https://a.example/set", "https://b.example/?x", 2]],
    ["10.0.0.7:1,[::1]:2", [[SET, "10.0.0.7", 1], [SET, "::1", 2], 2]],
  ])("%s", async (list, requests) => {
    expect(await asked(list, SET, [])).toEqual(requests);
  });

  test("a second time if they differ, since a change takes a moment", async () => {
    expect(await asked("a:1,b:2", SET, [op(), op({ keys: two })])).toHaveLength(5);
    expect(await asked("a:1,b:2", SET, [op(), op()])).toHaveLength(3);
  });

  test("not if there are none, or the key set is not known", async () => {
    expect(await asked("", SET, [])).toEqual([0]);
    expect(await asked("a:1,b:2", undefined, [])).toEqual([0]);
  });
});
