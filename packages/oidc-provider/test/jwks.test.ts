import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { errors, ExternalSigningKey, Provider } from "oidc-provider";
import { afterEach, describe, expect, test } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  createRotationSchedule,
  type JwksEndpoint,
  type KeySet,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostKeys } from "@signpost/oidc-provider";
import { type Op, published, startOp } from "./support/op.ts";

const PREFLIGHT = { origin: "https://spa.example", "access-control-request-method": "GET" };

let op: Op | undefined;
afterEach(() => {
  op?.close();
});

describe("the JWKS of the provider", () => {
  test("is ours, at the path that its discovery document names: HEAD, 304, 405 and the rotation mode", async () => {
    let rotation = false;
    const keys = createKeySet([{ signer: await openLocalSigner() }]);
    op = await startOp({ keys, jwksRotationActive: () => rotation });
    const discovery = (await (await fetch(`${op.issuer}/.well-known/openid-configuration`)).json()) as {
      jwks_uri: string;
      id_token_signing_alg_values_supported: string[];
    };
    expect(discovery.jwks_uri).toBe(`${op.issuer}/jwks`);
    expect(discovery.id_token_signing_alg_values_supported).toContain("ES256");
    const get = await fetch(discovery.jwks_uri);
    const etag = get.headers.get("etag") ?? "";
    expect(get.headers.get("content-type")).toBe("application/jwk-set+json");
    expect(get.headers.get("cache-control")).toBe("public, max-age=3600, stale-while-revalidate=3600");
    rotation = true;
    const head = await fetch(discovery.jwks_uri, { method: "HEAD" });
    expect(head.headers.get("cache-control")).toBe("public, max-age=300, must-revalidate");
    expect(head.headers.get("etag")).toBe(etag);
    const cached = await fetch(discovery.jwks_uri, { headers: { "if-none-match": etag } });
    expect(cached.status).toBe(304);
    expect((await fetch(discovery.jwks_uri, { method: "POST" })).status).toBe(405);
  });

  test("of a schedule has the schedule's cache mode, with no more said", async () => {
    const hour = 3_600_000;
    let time = 50 * hour;
    const schedule = createRotationSchedule(
      [
        { signer: await openLocalSigner(), announcedFrom: new Date(0), activeFrom: new Date(0) },
        { signer: await openLocalSigner(), announcedFrom: new Date(90 * hour), activeFrom: new Date(100 * hour) },
      ],
      { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0, now: () => time },
    );
    op = await startOp({ keys: schedule });
    const cacheControl = async (issuer: string) => (await fetch(`${issuer}/jwks`)).headers.get("cache-control");
    expect(await cacheControl(op.issuer)).toBe("public, max-age=3600, stale-while-revalidate=3600");
    time = 95 * hour;
    expect(await cacheControl(op.issuer)).toBe("public, max-age=300, must-revalidate");
  });

  test("of a list of entries publishes the keys that sign", async () => {
    op = await startOp({ keys: [{ keyId: "a", signer: await openLocalSigner() }] });
    expect((await published(op)).keys.map((key) => key.kid)).toEqual(["a"]);
  });

  test("never shows the places that the host keeps for keys to come", async () => {
    const keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
    op = await startOp({ keys });
    expect((await published(op)).keys.map((key) => key.kid)).toEqual(["a"]);
  });

  // The host's router takes a path in any case, and with a trailing slash.
  test.each(["/JWKS", "/jwks/", "/Jwks/", "/jwks?x=1"])("is ours at %s too, before all that follows", async (path) => {
    const passed: string[] = [];
    op = await startOp({
      keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
      middleware: async (context, next) => {
        passed.push(context.path);
        await next();
      },
    });
    const ours = await fetch(`${op.issuer}/jwks`);
    const other = await fetch(`${op.issuer}${path}`);
    expect(other.headers.get("etag")).toBe(ours.headers.get("etag"));
    expect(await other.text()).toBe(await ours.text());
    expect(passed).toEqual([]);
  });

  test("is ours at a target in absolute form (RFC 9112 section 3.2.2)", async () => {
    op = await startOp({ keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]) });
    const [response] = (await once(get(op.issuer, { path: `${op.issuer}/jwks` }), "response")) as [IncomingMessage];
    response.resume();
    expect(response.headers.etag).toBe((await fetch(`${op.issuer}/jwks`)).headers.get("etag"));
  });

  test("is ours if a middleware of the OP rewrote the path", async () => {
    op = await startOp({
      keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
      middleware: async (context, next) => {
        context.path = context.path.replace(/^\/v1\//, "/");
        await next();
      },
    });
    const response = await fetch(`${op.issuer}/v1/jwks`);
    expect(response.headers.get("cache-control")).toBe("public, max-age=3600, stale-while-revalidate=3600");
    expect(await response.json()).toEqual(await published(op));
  });

  test("is ours if the provider is mounted under the path of its issuer, as its discovery document says", async () => {
    op = await startOp({
      keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
      mountPath: "/oidc",
    });
    const discovery = (await (await fetch(`${op.issuer}/.well-known/openid-configuration`)).json()) as {
      issuer: string;
      jwks_uri: string;
    };
    expect(discovery).toMatchObject({ issuer: op.issuer, jwks_uri: `${op.issuer}/jwks` });
    expect(op.issuer).toMatch(/\/oidc$/);
    const response = await fetch(discovery.jwks_uri);
    expect(response.headers.get("etag")).toMatch(/^"[0-9a-f]{64}"$/);
    expect((await published(op)).keys.map((key) => key.kid)).toEqual(["a"]);
  });

  test("is readable from any origin, as the host's is, in one copy for all of them", async () => {
    op = await startOp({ keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]) });
    const response = await fetch(`${op.issuer}/jwks`, { headers: { origin: "https://spa.example" } });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-expose-headers")).toBe("ETag");
    expect(response.headers.get("vary")).toBeNull();
    const preflight = await fetch(`${op.issuer}/jwks`, {
      method: "OPTIONS",
      headers: { ...PREFLIGHT, "access-control-request-headers": "x-request-id, traceparent" },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, HEAD");
    expect(preflight.headers.get("access-control-allow-headers")).toBe("x-request-id, traceparent");
    expect(preflight.headers.get("vary")).toBeNull();
    expect((await fetch(`${op.issuer}/jwks`, { method: "OPTIONS" })).status).toBe(405);
  });

  test("is left to the endpoint's own option with cors: false", async () => {
    const keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
    op = await startOp({ keys, attach: { cors: false } });
    const closed = await fetch(`${op.issuer}/jwks`, { headers: { origin: "https://spa.example" } });
    expect(closed.headers.get("access-control-allow-origin")).toBeNull();
    expect((await fetch(`${op.issuer}/jwks`, { method: "OPTIONS", headers: PREFLIGHT })).status).toBe(405);
    op.close();
    op = await startOp({
      keys,
      attach: { cors: false },
      endpoint: (issuer) => createJwksEndpoint({ issuer, keys, cors: true }),
    });
    expect((await fetch(`${op.issuer}/jwks`)).headers.get("access-control-allow-origin")).toBe("*");
    expect((await fetch(`${op.issuer}/jwks`, { method: "OPTIONS", headers: PREFLIGHT })).status).toBe(204);
  });

  test.each([true, false])(
    "has nothing of the host's own CORS where a middleware of the OP rewrote the path: cors %s",
    async (cors) => {
      op = await startOp({
        keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
        attach: { cors },
        middleware: async (context, next) => {
          context.path = context.path.replace(/^\/v1\//, "/");
          await next();
        },
      });
      const url = `${op.issuer}/v1/jwks`;
      const response = await fetch(url, { headers: { origin: "https://spa.example" } });
      expect(response.status).toBe(200);
      expect(response.headers.get("access-control-allow-origin")).toBe(cors ? "*" : null);
      expect(response.headers.get("vary")).toBeNull();
      const preflight = await fetch(url, { method: "OPTIONS", headers: PREFLIGHT });
      expect(preflight.status).toBe(cors ? 204 : 405);
      expect(preflight.headers.get("access-control-allow-origin")).toBe(cors ? "*" : null);
      expect((await fetch(url, { method: "OPTIONS" })).status).toBe(405);
    },
  );
});

test("a middleware of the OP that answers in place of the host's route has answered", async () => {
  op = await startOp({
    keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
    middleware: async (context, next) => {
      if (context.path !== "/v1/keys") return next();
      context.path = "/jwks";
      await next();
      context.respond = false;
      context.res.setHeader("vary", "origin");
      context.res.end("answered");
    },
  });
  const errors: unknown[] = [];
  op.provider.on("error" as "server_error", (error: unknown) => errors.push(error));
  const response = await fetch(`${op.issuer}/v1/keys`);
  expect(await response.text()).toBe("answered");
  expect(errors).toEqual([]);
});

describe("an endpoint is refused", () => {
  function attach(issuer: string, keys: KeySet, endpoint: JwksEndpoint): void {
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const { jwks, features, clientDefaults } = signpost;
    signpost.attach(new Provider(issuer, { jwks, features, clientDefaults: { ...clientDefaults } }), endpoint);
  }

  test.each([
    ["of another issuer", { issuer: "https://other.example" }],
    ["of another tenant of the same host", { issuer: "https://op.example/b" }],
    ["of a name that ends with the path", { issuer: "https://op.example/a", endpoints: { jwks: "/jwks-old" } }],
    ["of an issuer that begins with the same letters", { issuer: "https://op.example/ab" }],
  ])("%s", async (_name, routes) => {
    const keys = createKeySet([{ signer: await openLocalSigner() }]);
    const endpoint = createJwksEndpoint({ ...routes, keys });
    expect(() => attach("https://op.example/a", keys, endpoint)).toThrow(
      expect.objectContaining({ argument: "endpoint" }),
    );
  });

  test("that does not publish the key that signs", async () => {
    const keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
    const others = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
    const issuer = "https://op.example";
    expect(() => attach(issuer, keys, createJwksEndpoint({ issuer, keys: others }))).toThrow(
      expect.objectContaining({ argument: "endpoint", message: expect.stringContaining('"a"') }),
    );
  });
});
