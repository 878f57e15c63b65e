import { expect, test } from "vitest";
import type { ProbeRequest } from "../../src/check/exchange.ts";
import { check, differences, JWKS_URI, op, type Op } from "./support/op.ts";

// A request that gets no answer, such as the last one of a host that then goes away, costs only what it would have told.

/** Answers the nth request for the set that fits with nothing. */
function losing(nth: number, fits: (request: ProbeRequest) => boolean): Op {
  const server = op();
  let count = 0;
  return (request) => {
    if (request.url === JWKS_URI && fits(request)) count += 1;
    else return server(request);
    return count === nth ? { reason: "time", detail: "timeout" } : server(request);
  };
}

const isPlain = ({ method, headers }: ProbeRequest): boolean =>
  method === "GET" &&
  headers["if-none-match"] === undefined &&
  headers["accept-encoding"] === "identity" &&
  (headers["accept"] ?? "").includes("*/*");

test("without the last answer, a 304 is compared with the first one", async () => {
  const { rows } = await check(losing(2, isPlain));
  expect(rows.find(({ rule }) => rule === "304-headers")).toMatchObject({ verdict: "ok" });
});

test("without the answer to a compressed request, the other rules are judged as before", async () => {
  const lost = await differences(losing(1, ({ headers }) => headers["accept-encoding"] === "gzip"));
  expect(Object.keys(lost).filter((rule) => !/gzip|coding|compress/.test(rule))).toEqual([]);
});

test("without the first answer, nothing else is judged", async () => {
  const { rows } = await check(losing(1, isPlain));
  expect(rows.find(({ rule }) => rule === "304-headers")).toMatchObject({ verdict: "skipped" });
});
