import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { countWhenDone } from "../../src/serve/http/count.ts";
import { createCounters } from "../../src/serve/metrics/counters.ts";

test.each([
  ["GET", "GET"],
  ["HEAD", "HEAD"],
  ["OPTIONS", "OPTIONS"],
  ["POST", "POST"],
  ["PATCH", "other"],
  ["", "other"],
  [undefined, "other"],
])("a request with the method %s is counted as %s, once its answer is done", (method, counted) => {
  const counters = createCounters();
  const response = Object.assign(new EventEmitter(), { statusCode: 0 });
  countWhenDone(counters, { port: "public", route: "jwks" }, { method } as never, response as never);
  expect(counters.requests.samples()).toEqual([]);
  response.statusCode = 404;
  response.emit("finish");
  response.emit("finish");
  expect(counters.requests.samples()).toEqual([
    { labels: { port: "public", route: "jwks", method: counted, code: "404" }, value: 1 },
  ]);
});
