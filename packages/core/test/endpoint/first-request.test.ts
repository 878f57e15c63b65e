import { once } from "node:events";
import { createServer, type IncomingMessage, ServerResponse } from "node:http";
import { expect, test, vi } from "vitest";
import { createJwksEndpoint } from "@signpost/core";
import { goldenSet } from "../support/key-fixtures.ts";

function watched() {
  const onError = vi.fn<(error: unknown) => void>();
  const endpoint = createJwksEndpoint({ issuer: "https://op.example/oidc", keys: goldenSet(), onError });
  return { endpoint, onError };
}

/** What a router hands on: `url` below the place where it is mounted, and `originalUrl` where it keeps the whole. */
function answered(
  endpoint: ReturnType<typeof watched>["endpoint"],
  req: { url?: string; originalUrl?: string },
): number {
  const request = Object.assign(Object.create(null), { method: "GET", headers: {} }, req) as IncomingMessage;
  const response = new ServerResponse(request);
  endpoint.listener(request, response);
  return response.statusCode;
}

test("an endpoint that is mounted by routePath at the root is reported to onError once, and still answers", () => {
  const { endpoint, onError } = watched();
  for (const url of ["/jwks", "/jwks?x=1", "/elsewhere"]) expect(answered(endpoint, { url })).toBe(200);
  expect(onError.mock.calls).toEqual([
    [
      expect.objectContaining({
        name: "ConfigurationError",
        argument: "pathname",
        message: expect.stringMatching(/"\/jwks".*https:\/\/op\.example\/oidc\/jwks.*"\/oidc\/jwks".*strips a prefix/),
      }),
    ],
  ]);
});

test("the same holds for fetch", () => {
  const { endpoint, onError } = watched();
  for (const path of ["/jwks", "/jwks"]) {
    expect(endpoint.fetch(new Request(`https://op.example${path}`)).status).toBe(200);
  }
  expect(onError).toHaveBeenCalledTimes(1);
});

test.each([
  ["at its pathname", { url: "/oidc/jwks" }],
  ["with a query", { url: "/oidc/jwks?x=1" }],
  ["in absolute form", { url: "http://op.example/oidc/jwks" }],
  ["in the spelling of a router that is not strict", { url: "/OIDC/jwks/" }],
  ["through a router that took its prefix off", { url: "/jwks", originalUrl: "/oidc/jwks" }],
])("a first request %s is nothing to tell, and neither is what comes after it", (_name, req) => {
  const { endpoint, onError } = watched();
  answered(endpoint, req);
  answered(endpoint, { url: "/anything" });
  endpoint.fetch(new Request("https://op.example/anything"));
  expect(onError).not.toHaveBeenCalled();
});

test("a request without a path is passed over: the next one is looked at", () => {
  const { endpoint, onError } = watched();
  answered(endpoint, { url: "*" });
  expect(onError).not.toHaveBeenCalled();
  answered(endpoint, { url: "/jwks" });
  expect(onError).toHaveBeenCalledTimes(1);
});

test("respond looks at no path, since it is given none", () => {
  const { endpoint, onError } = watched();
  endpoint.respond("GET");
  expect(onError).not.toHaveBeenCalled();
});

test("over a real server an onError that throws spoils no response", async () => {
  const { listener } = createJwksEndpoint({
    issuer: "https://op.example/oidc",
    keys: goldenSet(),
    onError: () => {
      throw new Error("hostile");
    },
  });
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  expect((await fetch(`${origin}/jwks`)).status).toBe(200);
  server.closeAllConnections();
  server.close();
});
