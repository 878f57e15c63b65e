import { describe, expect, test } from "vitest";
import { createJwksEndpoint } from "@signpost/core";
import { goldenSet } from "../support/key-fixtures.ts";

const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: goldenSet(), cors: true });
const USUAL = "If-None-Match, Cache-Control";

function allowedHeaders(requestHeaders: string | undefined): string | undefined {
  const asked = { origin: "https://spa.example", requestMethod: "GET", requestHeaders };
  const { status, headers } = endpoint.respond("OPTIONS", null, asked);
  expect(status).toBe(204);
  return headers["Access-Control-Allow-Headers"];
}

describe("the headers that a preflight requests", () => {
  test.each([
    ["is repeated", "traceparent, x-request-id", "traceparent, x-request-id"],
    ["is repeated without white space and empty members", " ,\ta\t,, b ,", "a, b"],
    ["is nothing", undefined, USUAL],
    ["is an empty list", ",", USUAL],
    ["has white space in a name", "x y", USUAL],
    ["has a line end", "x\r\nSet-Cookie: a=b", USUAL],
    ["has white space that is none in a header", "a,\u00A0b", USUAL],
    ["is no ASCII", "é", USUAL],
  ])("%s", (_name, asked, allowed) => {
    expect(allowedHeaders(asked)).toBe(allowed);
  });

  test("costs no more than its length, with a long run of white space too", () => {
    const start = performance.now();
    expect(allowedHeaders(`a${" ".repeat(64_000)}b`)).toBe(USUAL);
    // Tried again from each space, it was seconds.
    expect(performance.now() - start).toBeLessThan(500);
  });
});
