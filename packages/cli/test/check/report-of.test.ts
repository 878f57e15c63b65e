import { expect, test } from "vitest";
import { reportOf } from "../../src/check/check-issuer.ts";
import type { Exchange, NoAnswerReason, Recording } from "../../src/check/exchange.ts";
import { exchangeOf, JWKS_URI, op } from "./support/op.ts";

// When a check says that no server is there at all.

const request = { method: "GET", url: JWKS_URI, headers: {} };
const NOTHING: Recording = {
  target: JWKS_URI,
  issuer: undefined,
  discovery: [],
  jwksUrl: JWKS_URI,
  redirects: [],
  probes: {},
};
const ANSWER = exchangeOf(op(), request);
const failed = (reason: NoAnswerReason): Exchange => ({ kind: "no-answer", request, reason, detail: "x" });
const discovered = (exchange: Exchange): Recording["discovery"] => [
  { document: "openid-configuration", redirects: [], exchange },
];

test.each<[what: string, recording: Partial<Recording>, unreachable: string | undefined]>([
  ["nothing was asked", {}, "no request was made"],
  ["the key set answers", { probes: { get: ANSWER } }, undefined],
  ["the document answers alone", { discovery: discovered(ANSWER), probes: { get: failed("name") } }, undefined],
  ["the name is not found", { probes: { get: failed("name") } }, "the host name was not found (x)"],
  ["there is no connection", { probes: { get: failed("connection") } }, "no connection (x)"],
  ["there is no time", { probes: { get: failed("time") } }, "no complete answer in time (x)"],
  ["it was not allowed", { probes: { get: failed("not-allowed") } }, "not asked: x"],
  ["TLS failed, which a server did", { probes: { get: failed("tls") } }, undefined],
  ["something answered that is not HTTP", { probes: { get: failed("not-http") } }, undefined],
  [
    "the document is away, which was asked first",
    { discovery: discovered(failed("name")), probes: { get: failed("time") } },
    "the host name was not found (x)",
  ],
])("a host is unreachable or not if %s", (_what, recording, unreachable) => {
  expect(reportOf({ ...NOTHING, ...recording }, [], false).unreachable).toBe(unreachable);
});

test("a report says where it looked, and for what", () => {
  const recording = { ...NOTHING, target: "https://op.example", probes: { get: ANSWER } };
  for (const isStrict of [false, true]) {
    expect(reportOf(recording, [], isStrict)).toMatchObject({
      target: "https://op.example",
      jwksUrl: JWKS_URI,
      isStrict,
    });
  }
});

test("a report is ok if no rule is broken, and with the rules about replicas", () => {
  const recording = { ...NOTHING, probes: { get: ANSWER } };
  const good = [
    { name: "a", exchange: ANSWER },
    { name: "b", exchange: ANSWER },
  ];
  const bad = [...good, { name: "c", exchange: failed("time") }];
  const rulesOf = (rows: ReturnType<typeof reportOf>["rows"]): number =>
    rows.filter(({ rule }) => rule.startsWith("replica-")).length;
  expect(rulesOf(reportOf(recording, [], false).rows)).toBe(0);
  const reports = [good, bad].map((replicas) => reportOf(recording, replicas, false));
  expect(reports.map(({ rows }) => rulesOf(rows))).toEqual([5, 5]);
  expect(reports.map(({ isOk }) => isOk)).toEqual([true, false]);
});
