import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { createJwksEndpoint } from "@signpost/core";
import { removeOrigin } from "@signpost/core/adapter";
import { goldenSet } from "../support/key-fixtures.ts";

const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: goldenSet(), cors: true });
const USUAL = "If-None-Match, Cache-Control";

function allowedHeaders(requestHeaders: string | undefined): string | undefined {
  const asked = { origin: "https://spa.example", requestMethod: "GET", requestHeaders };
  const { status, headers } = endpoint.respond("OPTIONS", null, asked);
  expect(status).toBe(204);
  return headers["Access-Control-Allow-Headers"];
}

describe("what middleware set for one origin is removed", () => {
  function headersAfter(headers: Record<string, string>): Record<string, unknown> {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    removeOrigin(response);
    return { ...response.getHeaders() };
  }

  test.each([
    ["Origin alone", "Origin", {}],
    ["Origin between others, in any case", "Accept-Encoding, ORIGIN , Accept", { vary: "Accept-Encoding, Accept" }],
    ["nothing of Origin", "Accept-Encoding,Accept", { vary: "Accept-Encoding,Accept" }],
  ])("from Vary with %s", (_what, vary, expected) => {
    expect(headersAfter({ Vary: vary })).toEqual(expected);
  });

  test("and each header of CORS, but no other", () => {
    const cors = { "Access-Control-Allow-Origin": "https://spa.example", "Access-Control-Expose-Headers": "ETag" };
    expect(headersAfter({ ...cors, ETag: '"one"' })).toEqual({ etag: '"one"' });
  });
});

describe("with cors", () => {
  const OPEN = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag" };
  const asked = { origin: "https://spa.example", requestMethod: "GET" };
  const PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": USUAL,
    "Access-Control-Max-Age": "86400",
    ...OPEN,
  };

  test("a preflight is answered for a day, without a body", () => {
    expect(endpoint.respond("OPTIONS", null, asked)).toEqual({ status: 204, headers: PREFLIGHT, body: null });
  });

  test.each([
    ["no Origin", { requestMethod: "GET" }],
    ["an empty Origin", { ...asked, origin: "" }],
    ["no method", { origin: "https://spa.example" }],
    ["an empty method", { ...asked, requestMethod: "" }],
    ["nothing", {}],
  ])("OPTIONS with %s is no preflight", (_what, headers) => {
    expect(endpoint.respond("OPTIONS", null, headers)).toMatchObject({ status: 405, headers: OPEN });
  });

  test.each(["GET", "HEAD", "POST"])("%s has the headers too, and is no preflight", (method) => {
    const { status, headers } = endpoint.respond(method, null, asked);
    expect([status, headers["Access-Control-Max-Age"]]).toEqual([method === "POST" ? 405 : 200, undefined]);
    expect(headers).toMatchObject(OPEN);
  });

  test("a Request of the Fetch standard is read for a preflight", () => {
    const { status, headers } = endpoint.fetch(
      new Request(endpoint.jwksUri, {
        method: "OPTIONS",
        headers: {
          origin: "https://spa.example",
          "access-control-request-method": "GET",
          "access-control-request-headers": "a, b",
        },
      }),
    );
    expect([status, headers.get("access-control-allow-headers")]).toEqual([204, "a, b"]);
  });
});

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
