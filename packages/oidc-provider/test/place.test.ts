import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import express from "express";
import Koa from "koa";
import mount from "koa-mount";
import { type Configuration, errors, ExternalSigningKey, type JWK, Provider } from "oidc-provider";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createJwksEndpoint, createKeySet, type KeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type AttachOptions, mountJwks, type SignpostKeys, signpostKeys } from "@signpost/oidc-provider";

const CLIENT = {
  client_id: "rp",
  client_secret: "only-for-this-test",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
} as const;

let keys: KeySet;
let told: Error[] = [];
const servers: Server[] = [];
beforeEach(async () => {
  keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
  told = [];
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Made {
  readonly provider: Provider;
  readonly attach: (mountPrefix?: string, options?: AttachOptions) => void;
}

function plug(): SignpostKeys<ExternalSigningKey> {
  return signpostKeys({ ExternalSigningKey, errors, keys, onError: (error) => told.push(error) });
}

function make(issuer: string, signpost = plug(), configuration: Configuration = {}): Made {
  const provider = new Provider(issuer, {
    ...configuration,
    jwks: signpost.jwks,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: "api", audience: "urn:example:api", accessTokenFormat: "jwt" }),
      },
      ...signpost.features,
    },
    clientDefaults: { ...signpost.clientDefaults },
    clients: [{ ...CLIENT }],
  });
  return {
    provider,
    attach: (mountPrefix, options) =>
      signpost.attach(provider, createJwksEndpoint({ issuer, keys, mountPrefix }), options),
  };
}

async function serve(listener: (req: IncomingMessage, res: ServerResponse) => unknown): Promise<string> {
  const server = createServer((req, res) => void listener(req, res)).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

/** A JWT access token, the shortest way to a signature. */
function askToken(base: string): Promise<Response> {
  return fetch(`${base}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`rp:${CLIENT.client_secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials", resource: "urn:example:api" }),
  });
}

async function announced(base: string): Promise<string> {
  const { jwks_uri } = (await (await fetch(`${base}/.well-known/openid-configuration`)).json()) as { jwks_uri: string };
  return new URL(jwks_uri).pathname;
}

async function isOurs(url: string): Promise<boolean> {
  return /^"[0-9a-f]{64}"$/.test((await fetch(url)).headers.get("etag") ?? "");
}

function failuresOf(provider: Provider): Error[] {
  const failures: Error[] = [];
  provider.on("server_error", (_context, error) => failures.push(error));
  return failures;
}

describe("attach comes too late", () => {
  test("after provider.callback(), and is refused", () => {
    const { provider, attach } = make("https://op.example");
    provider.callback();
    expect(() => attach()).toThrow(
      expect.objectContaining({ argument: "provider", message: expect.stringContaining("before provider.callback()") }),
    );
    expect(() => mountJwks(provider, createJwksEndpoint({ issuer: provider.issuer, keys }))).toThrow(
      expect.objectContaining({ argument: "provider" }),
    );
  });

  test("if the OP listens to errors itself, and nothing is signed: the error names the option", async () => {
    const { provider, attach } = make("https://op.example");
    const failures = failuresOf(provider);
    provider.on("error" as "server_error", () => {});
    const base = await serve(provider.callback());
    attach();
    expect(await isOurs(`${base}/jwks`)).toBe(false);
    expect((await askToken(base)).status).toBe(500);
    expect(failures).toEqual([
      expect.objectContaining({
        cause: expect.objectContaining({
          name: "ConfigurationError",
          argument: "servesRequests",
          message: expect.stringContaining("{ servesRequests: false }"),
        }),
      }),
    ]);
  });

  test("after koa-mount, and nothing is signed", async () => {
    const { provider, attach } = make("https://op.example");
    const failures = failuresOf(provider);
    const app = new Koa().use(mount("/oidc", provider as never));
    attach("/oidc");
    const base = await serve(app.callback());
    expect((await askToken(`${base}/oidc`)).status).toBe(500);
    expect(failures).toEqual([
      expect.objectContaining({ cause: expect.objectContaining({ argument: "servesRequests" }) }),
    ]);
  });
});

describe("mountJwks comes too late", () => {
  const OWN_SET = expect.objectContaining({ argument: "provider", message: expect.stringContaining("own key set") });

  async function mountLate(before: (provider: Provider) => Promise<string>): Promise<[Error[], string]> {
    const { provider } = make("https://op.example");
    const base = await before(provider);
    const late: Error[] = [];
    const onError = (error: Error): void => void late.push(error);
    mountJwks(provider, createJwksEndpoint({ issuer: provider.issuer, keys }), { onError });
    expect((await fetch(`${base}/.well-known/openid-configuration`)).status).toBe(200);
    expect(late).toEqual([]);
    return [late, base];
  }

  test("where the OP listens to errors itself, and the first request for the host's key set tells", async () => {
    const [late, base] = await mountLate(async (provider) => {
      provider.on("error" as "server_error", () => {});
      return serve(provider.callback());
    });
    for (let request = 0; request < 2; request += 1) expect(await isOurs(`${base}/jwks`)).toBe(false);
    expect(late).toEqual([OWN_SET]);
  });

  test("after koa-mount, and the same tells", async () => {
    const [late, base] = await mountLate((provider) => serve(new Koa().use(mount("/", provider as never)).callback()));
    expect(await isOurs(`${base}/jwks`)).toBe(false);
    expect(late).toEqual([OWN_SET]);
  });
});

test.each<[string, object]>([
  ["nothing", {}],
  ["a request", { req: { socket: {} }, res: {} }],
  ["a request that the host does not answer", { req: {}, res: {}, path: "/jwks" }],
])("the OP may make a context of the host, of %s", async (_name, context) => {
  const { provider, attach } = make("https://op.example");
  attach();
  const { OIDCContext }: { OIDCContext: new (context: object) => object } = Object(provider);
  expect(new OIDCContext(context)).toBeInstanceOf(OIDCContext);
  await setImmediate();
  expect(told).toEqual([]);
});

test("of two mounts, the one from before attach signs nothing", async () => {
  const { provider, attach } = make("https://op.example");
  const early = await serve(new Koa().use(mount("/", provider as never)).callback());
  attach();
  const late = await serve(provider.callback());
  expect([(await askToken(late)).status, await isOurs(`${late}/jwks`)]).toEqual([200, true]);
  expect([(await askToken(early)).status, await isOurs(`${early}/jwks`)]).toEqual([500, false]);
});

test("a second endpoint is refused, since only the first would answer", () => {
  const mountedBefore = expect.objectContaining({
    argument: "provider",
    message: expect.stringContaining("mountJwks"),
  });
  const [first, second] = [make("https://op.example"), make("https://op.example")];
  const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys });
  mountJwks(first.provider, endpoint);
  expect(() => first.attach()).toThrow(mountedBefore);
  expect(() => first.attach(undefined, { servesRequests: false })).toThrow(mountedBefore);
  second.attach();
  expect(() => mountJwks(second.provider, endpoint)).toThrow(mountedBefore);
});

test("of two providers with the same keys, the one that was not attached signs nothing", async () => {
  const signpost = plug();
  const [first, second] = [make("https://a.example", signpost), make("https://b.example", signpost)];
  first.attach();
  const failures = failuresOf(second.provider);
  const [firstServer, secondServer] = [await serve(first.provider.callback()), await serve(second.provider.callback())];
  expect((await askToken(firstServer)).status).toBe(200);
  expect(await isOurs(`${secondServer}/jwks`)).toBe(false);
  expect((await askToken(secondServer)).status).toBe(500);
  expect(failures).toEqual([
    expect.objectContaining({
      cause: expect.objectContaining({
        name: "ConfigurationError",
        argument: "provider",
        message: expect.stringContaining("https://a.example"),
      }),
    }),
  ]);
});

test("of two providers with the same keys, the one that was not attached signs nothing without an issuer either", async () => {
  const signpost = plug();
  const jwt = (_context: unknown, _token: unknown, { payload }: { payload: { iss?: unknown } }): void => {
    delete payload.iss;
  };
  const first = make("https://a.example", signpost);
  const second = make("https://b.example", signpost, { formats: { customizers: { jwt } } });
  first.attach();
  const failures = failuresOf(second.provider);
  expect((await askToken(await serve(first.provider.callback()))).status).toBe(200);
  expect((await askToken(await serve(second.provider.callback()))).status).toBe(500);
  expect(failures).toEqual([expect.objectContaining({ cause: expect.objectContaining({ argument: "provider" }) })]);
});

test("of two providers of one issuer, the one that was not attached signs nothing for the requests that it answers", async () => {
  const signpost = plug();
  const [first, second] = [make("https://op.example", signpost), make("https://op.example", signpost)];
  first.attach();
  const failures = failuresOf(second.provider);
  const [firstServer, secondServer] = [await serve(first.provider.callback()), await serve(second.provider.callback())];
  expect((await askToken(firstServer)).status).toBe(200);
  expect((await askToken(secondServer)).status).toBe(500);
  expect(failures).toEqual([expect.objectContaining({ cause: expect.objectContaining({ argument: "provider" }) })]);
});

test("a provider signs while another one answers, and under an issuer that the OP writes", async () => {
  const other = make("https://b.example");
  other.attach(undefined, { servesRequests: false });
  const logoutTokens: string[] = [];
  const jwt = async (_context: unknown, _token: unknown, { payload }: { payload: object }): Promise<void> => {
    logoutTokens.push(await logoutTokenOf(other));
    Object.assign(payload, { iss: "https://old.example" });
  };
  const { provider, attach } = make("https://a.example", plug(), { formats: { customizers: { jwt } } });
  attach();
  expect((await askToken(await serve(provider.callback()))).status).toBe(200);
  expect(logoutTokens).toHaveLength(1);
});

async function logoutTokenOf({ provider }: Made): Promise<string> {
  const client = await provider.Client.find("rp");
  return new provider.IdToken({ sub: "a" }, { client }).issue({ use: "logout" });
}

describe("a process without requests", () => {
  test("signs nothing by default", async () => {
    const made = make("https://op.example");
    made.attach();
    await expect(logoutTokenOf(made)).rejects.toMatchObject({ cause: { argument: "servesRequests" } });
  });

  test("signs if attach has the option, late or not", async () => {
    const made = make("https://op.example");
    made.provider.callback();
    made.attach(undefined, { servesRequests: false });
    expect((await logoutTokenOf(made)).split(".")).toHaveLength(3);
  });

  test("that answers a request anyway, past the plug, signs nothing for it", async () => {
    const made = make("https://op.example");
    const failures = failuresOf(made.provider);
    const base = await serve(made.provider.callback());
    made.attach(undefined, { servesRequests: false });
    expect(await isOurs(`${base}/jwks`)).toBe(false);
    expect((await askToken(base)).status).toBe(500);
    expect(failures).toEqual([
      expect.objectContaining({ cause: expect.objectContaining({ argument: "servesRequests" }) }),
    ]);
    expect((await logoutTokenOf(made)).split(".")).toHaveLength(3);
  });

  test("that serves a first request signs from then on", async () => {
    const made = make("https://op.example");
    made.attach();
    const base = await serve(made.provider.callback());
    await fetch(`${base}/anything`);
    expect((await logoutTokenOf(made)).split(".")).toHaveLength(3);
  });
});

describe("the place of the provider is right, and nothing is reported", () => {
  test("at the root", async () => {
    const { provider, attach } = make("https://op.example");
    attach();
    const base = await serve(provider.callback());
    expect([await announced(base), await isOurs(`${base}/jwks`)]).toEqual(["/jwks", true]);
    expect(told).toEqual([]);
  });

  test.each([
    ["https://op.example", "/oidc"],
    ["https://op.example/oidc", undefined],
  ])("below /oidc in Express, of the issuer %s", async (issuer, mountPrefix) => {
    const { provider, attach } = make(issuer);
    attach(mountPrefix);
    const base = await serve(express().use("/oidc", provider.callback()));
    expect([await announced(`${base}/oidc`), await isOurs(`${base}/oidc/jwks`)]).toEqual(["/oidc/jwks", true]);
    expect((await askToken(`${base}/oidc`)).status).toBe(200);
    expect(told).toEqual([]);
  });

  test.each([
    ["https://op.example", "/oidc"],
    ["https://op.example/oidc", undefined],
  ])("below /oidc by koa-mount, of the issuer %s", async (issuer, mountPrefix) => {
    const { provider, attach } = make(issuer);
    attach(mountPrefix);
    const base = await serve(new Koa().use(mount("/oidc", provider as never)).callback());
    expect([await announced(`${base}/oidc`), await isOurs(`${base}/oidc/jwks`)]).toEqual(["/oidc/jwks", true]);
    expect((await askToken(`${base}/oidc`)).status).toBe(200);
    expect(told).toEqual([]);
  });

  test("behind a proxy that strips the prefix, if req.baseUrl restores it", async () => {
    const { provider, attach } = make("https://op.example/oidc");
    attach();
    const handle = provider.callback();
    const base = await serve((req, res) => void handle(Object.assign(req, { baseUrl: "/oidc" }), res));
    expect([await announced(base), await isOurs(`${base}/jwks`)]).toEqual(["/oidc/jwks", true]);
    expect(told).toEqual([]);
  });
});

describe("the first request says nothing of a wrong place", () => {
  test("if the first request is a health check that bypasses the proxy: the next one is checked", async () => {
    for (const [baseUrl, tells] of [
      ["/oidc", 0],
      ["/elsewhere", 1],
    ] as const) {
      const { provider, attach } = make("https://op.example/oidc");
      attach();
      const handle = provider.callback();
      const base = await serve((req, res) => {
        void handle(req.url === "/healthz" ? req : Object.assign(req, { baseUrl }), res);
      });
      expect((await fetch(`${base}/healthz`)).status).toBe(404);
      expect(await announced(base)).toBe(`${baseUrl}/jwks`);
      await vi.waitFor(() => {
        expect(told).toHaveLength(tells);
      });
    }
  });

  test("if the mount path ends with the name of the route", async () => {
    const { provider, attach } = make("https://op.example/v1/token");
    attach();
    const base = await serve(express().use("/v1/token", provider.callback()));
    expect((await askToken(`${base}/v1/token`)).status).toBe(200);
    expect(await announced(`${base}/v1/token`)).toBe("/v1/token/jwks");
    expect(told).toEqual([]);
  });
});

describe("the place of the provider is wrong, and the operator gets one report", () => {
  const wrongPlace = (...paths: string[]): unknown =>
    expect.objectContaining({
      name: "ConfigurationError",
      argument: "endpoint",
      message: expect.stringMatching(new RegExp(`${paths.join(".*")}.*mountPrefix.*req\\.baseUrl`)),
    });

  test.each(["discovery", "the key set", "another request"])(
    "behind a proxy that strips the prefix: %s comes first",
    async (first) => {
      const { provider, attach } = make("https://op.example/oidc");
      attach();
      const base = await serve(provider.callback());
      if (first === "discovery") expect(await announced(base)).toBe("/jwks");
      if (first === "the key set") expect(await isOurs(`${base}/jwks`)).toBe(true);
      // What is asked is answered all the same.
      expect((await askToken(base)).status).toBe(200);
      expect((await askToken(base)).status).toBe(200);
      expect(told).toEqual([wrongPlace("https://op.example/oidc/jwks", '"/jwks"')]);
    },
  );

  test("in Express below a prefix that the endpoint does not know", async () => {
    const { provider, attach } = make("https://op.example");
    attach();
    const base = await serve(express().use("/oidc", provider.callback()));
    expect(await announced(`${base}/oidc`)).toBe("/oidc/jwks");
    await vi.waitFor(() => {
      expect(told).toEqual([wrongPlace("https://op.example/jwks", '"/oidc/jwks"')]);
    });
  });

  test("by koa-mount at another prefix than the endpoint's", async () => {
    const { provider, attach } = make("https://op.example");
    attach("/oauth");
    const base = await serve(new Koa().use(mount("/oidc", provider as never)).callback());
    expect(await announced(`${base}/oidc`)).toBe("/oidc/jwks");
    await vi.waitFor(() => {
      expect(told).toEqual([wrongPlace("https://op.example/oauth/jwks", '"/oidc/jwks"')]);
    });
  });

  test("of a Provider with its own keys, through mountJwks", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const own = { ...privateKey.export({ format: "jwk" }), kid: "own" } as JWK;
    const provider = new Provider("https://op.example/oidc", { jwks: { keys: [own] } });
    const published = createKeySet([{ keyId: "own", signer: await openLocalSigner({ privateKey }) }]);
    const endpoint = createJwksEndpoint({ issuer: provider.issuer, keys: published });
    mountJwks(provider, endpoint, { onError: (error) => told.push(error) });
    const base = await serve(provider.callback());
    const response = await fetch(`${base}/jwks`, { headers: { origin: "https://spa.example" } });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    await vi.waitFor(() => {
      expect(told).toEqual([wrongPlace("https://op.example/oidc/jwks", '"/jwks"')]);
    });
  });
});

describe("the scheme by which the host announces its place", () => {
  const ask = async (base: string, headers: Record<string, string>): Promise<void> => {
    const [response] = (await once(get(`${base}/.well-known/openid-configuration`, { headers }), "response")) as [
      IncomingMessage,
    ];
    await json(response);
  };

  test("is wrong behind a proxy that terminates TLS: the operator gets one report, for a request through the proxy", async () => {
    const { provider, attach } = make("https://op.example");
    attach();
    const base = await serve(provider.callback());
    await ask(base, { host: "10.0.0.7:8080" });
    expect(told).toEqual([]);
    await ask(base, { host: "op.example" });
    await ask(base, { host: "op.example" });
    expect(told).toEqual([
      expect.objectContaining({
        argument: "endpoint",
        message: expect.stringMatching(
          /https:\/\/op\.example\/jwks.*http:\/\/op\.example: .*provider\.proxy.*X-Forwarded-Proto/,
        ),
      }),
    ]);
  });

  test("is wrong if a trusted proxy says so", async () => {
    const { provider, attach } = make("https://op.example");
    attach();
    const app = new Koa().use(mount("/", provider as never));
    app.proxy = true;
    const base = await serve(app.callback());
    await ask(base, { host: "op.example", "x-forwarded-proto": "http" });
    expect(told).toHaveLength(1);
  });

  test("is right if the provider trusts that proxy", async () => {
    const { provider, attach } = make("https://op.example");
    attach();
    provider.proxy = true;
    const base = await serve(provider.callback());
    // A health check past that proxy.
    await ask(base, { host: "op.example" });
    await ask(base, { host: "op.example", "x-forwarded-proto": "https" });
    expect(told).toEqual([]);
  });
});

test.each([
  ["cors", { cors: 1 }],
  ["onError", { onError: "log" }],
  ["onerror", { onerror: () => {} }],
])("mountJwks refuses a wrong %s", (argument, options) => {
  const provider = new Provider("https://op.example");
  const endpoint = createJwksEndpoint({ issuer: provider.issuer, keys });
  expect(() => mountJwks(provider, endpoint, options as never)).toThrow(expect.objectContaining({ argument }));
});
