import { createServer, request, type IncomingHttpHeaders, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createJwksEndpoint } from "@signpost/core";
import { openConfigKeys } from "../../src/config/config-keys.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { answerAdmin } from "../../src/serve/http/admin-port.ts";
import { answerPublic } from "../../src/serve/http/public-port.ts";
import type { Serving } from "../../src/serve/live/serving.ts";
import { createCounters } from "../../src/serve/metrics/counters.ts";
import type { ServerState } from "../../src/serve/state.ts";
import { createKeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

// What each port answers and counts, before there are keys and after.

let serving: Serving | undefined;
let state: ServerState;
let server: Server;

beforeEach(async () => {
  serving = undefined;
  state = {
    version: "1",
    configName: "signpost.config.json",
    startedAt: new Date(0),
    live: {
      serving: () => serving,
      adopt: () => Promise.reject(new TypeError("it is not used")),
      published: () => undefined,
      isRotationActive: () => false,
      nextChange: () => null,
    },
    reloader: { last: () => undefined },
    counters: createCounters(),
    pathname: "/jwks",
    isStopping: false,
    listeners: {},
  };
  server = createServer((incoming, outgoing) => {
    const answer = incoming.headers["x-port"] === "admin" ? answerAdmin : answerPublic;
    answer(state, incoming, outgoing);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => void server.close());

interface Response {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function ask(port: "public" | "admin", path: string, method = "GET", host?: string): Promise<Response> {
  const { port: number } = server.address() as AddressInfo;
  const headers = { "x-port": port, ...(host === undefined ? {} : { host }) };
  const outgoing = request({ host: "127.0.0.1", port: number, path, method, headers, agent: false }).end();
  const [incoming] = await once(outgoing, "response");
  return { status: incoming.statusCode, headers: incoming.headers, body: await text(incoming) };
}

const counted = (): readonly unknown[] => state.counters.requests.samples().map(({ labels }) => labels);

async function withKeys(): Promise<void> {
  await using folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
  const issuer = "https://op.example";
  await folder.write("signpost.config.json", {
    issuer,
    keys: [{ keyId: "sig-1", signer: `local:${folder.path}/op.pem` }],
  });
  const context = recordingContext(folder.path);
  const loaded = await loadConfig(context, undefined);
  const { keys, close } = await openConfigKeys(loaded, context);
  await close();
  serving = { loaded, endpoint: createJwksEndpoint({ issuer, keys }), source: keys, segments: [], since: new Date() };
}

describe("the port of the key set", () => {
  test.each([
    ["/jwks", "jwks"],
    ["/jwks/discovery", "discovery"],
  ])("asks clients of %s to come back before there are keys", async (path, route) => {
    const { status, headers, body } = await ask("public", path);
    expect([status, body]).toEqual([503, "Not ready\n"]);
    expect(headers).toMatchObject({
      "retry-after": "5",
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-length": "10",
    });
    expect(counted()).toEqual([{ port: "public", route, method: "GET", code: "503" }]);
  });

  test("serves the key set, and what follows from it for discovery", async () => {
    await withKeys();
    const keySet = await ask("public", "/jwks");
    expect([keySet.status, JSON.parse(keySet.body).keys[0].kid]).toEqual([200, "sig-1"]);
    const { status, headers, body } = await ask("public", "/jwks/discovery?a=b");
    expect([status, headers["content-type"], headers["cache-control"]]).toEqual([200, "application/json", "no-store"]);
    expect(JSON.parse(body)).toEqual({
      issuer: "https://op.example",
      jwks_uri: "https://op.example/jwks",
      id_token_signing_alg_values_supported: ["ES256"],
    });
    expect(counted()).toEqual([
      { port: "public", route: "jwks", method: "GET", code: "200" },
      { port: "public", route: "discovery", method: "GET", code: "200" },
    ]);
  });

  test("has HEAD and GET for discovery, and nothing else", async () => {
    await withKeys();
    const [get, head, post] = [
      await ask("public", "/jwks/discovery"),
      await ask("public", "/jwks/discovery", "HEAD"),
      await ask("public", "/jwks/discovery", "POST"),
    ];
    expect([head.status, head.body, head.headers["content-length"]]).toEqual([200, "", String(get.body.length)]);
    expect([post.status, post.headers.allow, post.body]).toEqual([405, "GET, HEAD", "Method not allowed\n"]);
  });

  test("has no other path", async () => {
    await withKeys();
    for (const path of ["/", "/jwks/", "/metrics", "/jwks/discovery/x", "*"]) {
      expect(await ask("public", path)).toMatchObject({ status: 404, body: "Not found\n" });
    }
    expect(counted()).toEqual([{ port: "public", route: "other", method: "GET", code: "404" }]);
  });
});

describe("the port for operators", () => {
  test.each<[path: string, isThere: boolean, isStopping: boolean, status: number, body: string]>([
    ["/livez", false, false, 200, "ok\n"],
    ["/livez", true, true, 200, "ok\n"],
    ["/readyz", false, false, 503, "no keys yet\n"],
    ["/readyz", true, false, 200, "ok\n"],
    ["/readyz", true, true, 503, "stopping\n"],
    ["/constructor", true, false, 404, "Not found\n"],
  ])("answers %s, with keys: %s, stopping: %s, with %i", async (path, isThere, isStopping, status, body) => {
    if (isThere) await withKeys();
    state.isStopping = isStopping;
    const response = await ask("admin", path);
    expect([response.status, response.body]).toEqual([status, body]);
    const route = status === 404 ? "other" : path;
    expect(counted()).toEqual([{ port: "admin", route, method: "GET", code: String(status) }]);
  });

  test("has metrics and a page for people", async () => {
    const [metrics, page] = [await ask("admin", "/metrics"), await ask("admin", "/")];
    expect(metrics.headers["content-type"]).toMatch(/^(?:text\/plain|application\/openmetrics-text); version=/);
    expect(metrics.body).toContain("signpost_");
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  });

  test("only reads", async () => {
    expect(await ask("admin", "/livez", "POST")).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
  });

  test.each([
    ["localhost", 200],
    ["localhost:8081", 200],
    ["127.0.0.1:8081", 200],
    ["[::1]:8081", 200],
    ["evil.example", 421],
    ["127.0.0.1.evil.example", 421],
    ["a b", 421],
  ])(
    "on this machine answers the name %s with %i: a page in a browser may have made it lead here",
    async (host, status) => {
      expect((await ask("admin", "/livez", "GET", host)).status).toBe(status);
    },
  );
});
