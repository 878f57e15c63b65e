import { type IncomingMessage, ServerResponse } from "node:http";
import { expect, test, vi } from "vitest";
import { createJwksEndpoint } from "@signpost/core";
import { goldenSet } from "../support/key-fixtures.ts";

const onError = vi.fn<(error: unknown) => void>();
const { middleware } = createJwksEndpoint({ issuer: "https://op.example/oidc", keys: goldenSet(), onError });

/** What became of a request: the status of our response, or that the next one had to answer. */
function outcome(req: { method?: string; url?: string; originalUrl?: unknown }): number | "next" {
  const request = Object.assign(Object.create(null), { method: "GET", headers: {} }, req) as IncomingMessage;
  const response = new ServerResponse(request);
  const next = vi.fn<() => void>();
  middleware(request, response, next);
  if (next.mock.calls.length > 0) {
    expect(next.mock.calls).toEqual([[]]);
    expect(response.headersSent).toBe(false);
    return "next";
  }
  expect(response.writableEnded).toBe(true);
  return response.statusCode;
}

test.each([
  { url: "/oidc/jwks" },
  { url: "/oidc/jwks?x=/other" },
  { url: "https://op.example/oidc/jwks" },
  { url: "/jwks", originalUrl: "/oidc/jwks" },
  { url: "/", originalUrl: "/oidc/jwks?x" },
])("%o is the key set, for any method", (req) => {
  expect(outcome(req)).toBe(200);
  expect(outcome({ ...req, method: "HEAD" })).toBe(200);
  expect(outcome({ ...req, method: "POST" })).toBe(405);
  expect(outcome({ ...req, method: "OPTIONS" })).toBe(405);
});

test.each([
  { url: "/jwks" },
  { url: "/oidc/jwks/" },
  { url: "/OIDC/jwks" },
  { url: "/oidc/%6Awks" },
  { url: "/oidc//jwks" },
  { url: "/x?/oidc/jwks" },
  { url: "*" },
  {},
  { url: "/oidc/jwks", originalUrl: "/tenant/oidc/jwks" },
])("%o is for the next one", (req) => {
  expect(outcome(req)).toBe("next");
  expect(outcome({ ...req, method: "OPTIONS" })).toBe("next");
});

test("what it hands on says nothing about where the endpoint is mounted", () => {
  expect(outcome({ url: "/elsewhere" })).toBe("next");
  expect(onError).not.toHaveBeenCalled();
});
