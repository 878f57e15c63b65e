import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { type INestApplication, VersioningType } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { Test } from "@nestjs/testing";
import { createJwksEndpoint, createKeySet, type JwksEndpoint } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import express from "express";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { etag } from "hono/etag";
import Koa from "koa";
import { describe, expect, onTestFinished, test } from "vitest";
import { JwksModule } from "../../examples/nestjs/src/jwks-module.ts";
import { start as startNest } from "../../examples/nestjs/src/server.ts";
import { importOldestHost, importWithOldestHosts } from "./support/frameworks.ts";
import { exchange, type RawRequest, type RawResponse } from "./support/raw-http.ts";
import { overSocket } from "./support/servings.ts";

// What a framework does to all responses by a setting or by middleware, and what must not reach the key set.

const ISSUER = "https://op.example/oidc";
const PATH = "/oidc/jwks";
const signer = await openLocalSigner();
// More than a kilobyte, so that middleware that compresses finds it worth the effort.
const retiring = await Promise.all(
  Array.from({ length: 6 }, async (_, index) => ({
    keyId: `retiring-${index}`,
    publicKey: (await openLocalSigner()).publicKey,
  })),
);
const keys = createKeySet([{ signer }, ...retiring]);
const problems: unknown[] = [];
const endpoint = createJwksEndpoint({ issuer: ISSUER, keys, onError: (error) => problems.push(error) });

const REQUESTS: readonly RawRequest[] = [
  { method: "GET", target: PATH, headers: [["Accept-Encoding", "gzip, br, deflate"]] },
  { method: "HEAD", target: PATH, headers: [["Accept-Encoding", "gzip"]] },
  { method: "GET", target: PATH, headers: [["If-None-Match", endpoint.respond("GET").headers["ETag"] ?? ""]] },
  { method: "POST", target: PATH, headers: [["Content-Type", "application/json"]], body: "{ not json" },
  {
    method: "OPTIONS",
    target: PATH,
    headers: [
      ["Origin", "https://spa.example"],
      ["Access-Control-Request-Method", "GET"],
    ],
  },
];

/** Status, our headers and bytes as `respond` gives them; of the server itself only the connection and the date. */
function expectExactly(responses: readonly RawResponse[], of: JwksEndpoint = endpoint): void {
  expect(responses).toHaveLength(REQUESTS.length);
  for (const [index, { method, headers = [] }] of REQUESTS.entries()) {
    const response = responses[index];
    const wanted = of.respond(method, new Map(headers).get("If-None-Match"));
    const others = (response?.headers ?? [])
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => !["date", "connection", "keep-alive"].includes(name));
    expect([response?.status, Object.fromEntries(others)]).toEqual([
      wanted.status,
      Object.fromEntries(Object.entries(wanted.headers).map(([name, value]) => [name.toLowerCase(), value])),
    ]);
    expect(others).toHaveLength(Object.keys(wanted.headers).length);
    expect(response?.body.equals(wanted.body ?? Buffer.of())).toBe(true);
  }
}

type Listener = (req: IncomingMessage, res: ServerResponse) => unknown;

/** A framework's listener, whose promise does not matter. */
function serverOf(listener: Listener): Server {
  return createServer((req, res) => void listener(req, res));
}

/** Middleware that reads bodies or changes every response, which is what must not run. */
function intruder() {
  const seen: (string | undefined)[] = [];
  const middleware = (
    req: { url?: string },
    res: { setHeader(name: string, value: string): unknown },
    next: () => void,
  ): void => {
    seen.push(req.url);
    res.setHeader("X-Intruder", "yes");
    next();
  };
  return { seen, middleware };
}

describe.each([
  ["the newest NestJS on Express", startNest, "express"],
  ["the newest NestJS on Fastify", startNest, "fastify"],
  ["NestJS 10.0 on Express", (await importWithOldestHosts<{ start: typeof startNest }>("nestjs")).start, "express"],
  ["NestJS 10.0 on Fastify", (await importWithOldestHosts<{ start: typeof startNest }>("nestjs")).start, "fastify"],
] as const)("%s", (_name, start, platform) => {
  test("no prefix, version, CORS, guard, interceptor, pipe, filter or middleware reaches the key set", async () => {
    const { seen, middleware } = intruder();
    const calls: string[] = [];
    const server = await start({
      issuer: ISSUER,
      port: 0,
      keys,
      platform,
      setUp: (app) => {
        app.setGlobalPrefix("api");
        app.enableVersioning({ type: VersioningType.URI, defaultVersion: "1" });
        if (platform === "express") app.enableCors({ origin: "https://spa.example", credentials: true });
        app.use(middleware);
        app.useGlobalGuards({ canActivate: () => calls.push("guard") < 0 });
        app.useGlobalInterceptors({
          intercept: (_context, next) => {
            calls.push("interceptor");
            return next.handle();
          },
        });
        app.useGlobalPipes({ transform: (value: unknown) => (calls.push("pipe"), value) });
      },
    });
    onTestFinished(() => server.close());
    expectExactly(await exchange(server.port, REQUESTS));
    expect([seen, calls]).toEqual([[], []]);

    const [elsewhere] = await exchange(server.port, [
      { method: "GET", target: "/api/v1/oidc/.well-known/openid-configuration" },
    ]);
    // All of it was there: the discovery document of the example has the prefix, the version and a guard.
    expect([elsewhere?.status, seen.length, calls]).toEqual([403, 1, ["guard"]]);
  });
});

test("NestJS on Fastify: enableCors also reaches the key set", async () => {
  const setUp = (app: { enableCors(options: { origin: string }): void }) =>
    app.enableCors({ origin: "https://spa.example" });
  const server = await startNest({ issuer: ISSUER, port: 0, keys, platform: "fastify", setUp });
  onTestFinished(() => server.close());
  const [whole, , , , preflight] = await exchange(server.port, REQUESTS);
  expect([whole?.status, preflight?.status]).toEqual([200, 204]);
  for (const response of [whole, preflight]) {
    expect(response?.headers).toContainEqual(["access-control-allow-origin", "https://spa.example"]);
  }
});

describe("NestJS, where the modules exist before the HTTP adapter or without one", () => {
  test.each([
    ["Express", undefined],
    ["Fastify", new FastifyAdapter()],
  ])("the application of a test module serves the key set, on %s", async (_name, adapter) => {
    const testing = await Test.createTestingModule({ imports: [JwksModule.serve(endpoint)] }).compile();
    const app: INestApplication<Server> =
      adapter === undefined ? testing.createNestApplication() : testing.createNestApplication(adapter);
    app.setGlobalPrefix("api");
    app.useGlobalGuards({ canActivate: () => false });
    await app.listen(0);
    onTestFinished(() => app.close());
    const response = await fetch(`${await app.getUrl()}${PATH}`);
    const { body, headers } = endpoint.respond("GET");
    expect([response.status, response.headers.get("ETag")]).toEqual([200, headers["ETag"]]);
    expect(Buffer.from(await response.arrayBuffer()).equals(body ?? Buffer.of())).toBe(true);
  });

  test("an application without HTTP loads the module", async () => {
    const settings = { abortOnError: false, logger: false } as const;
    const context = await NestFactory.createApplicationContext(JwksModule.serve(endpoint), settings);
    onTestFinished(() => context.close());
    expect(context.get(JwksModule)).toBeInstanceOf(JwksModule);
  });
});

describe("Express", () => {
  test("middleware in front of all else: a pattern in the issuer's path and a mounted router do not matter", async () => {
    const odd = createJwksEndpoint({ issuer: "https://op.example/a(b)*/:c+!", keys });
    const app = express().use(odd.middleware);
    const [response] = await overSocket(createServer(app), [{ method: "GET", target: "/a(b)*/:c+!/jwks?x=1" }]);
    expect(response?.status).toBe(200);

    const router = express.Router().use(endpoint.middleware);
    const below = express()
      .use("/oidc", router)
      .use((_req, res) => void res.status(404).end());
    expectExactly(withoutPoweredBy(await overSocket(createServer(below), REQUESTS)));
    const others = ["/jwks", "/oidc", "/oidc/jwks/", "/OIDC/jwks", "/oidc/oidc/jwks"];
    const answers = await overSocket(
      createServer(below),
      others.map((target) => ({ method: "HEAD", target })),
    );
    expect(answers.map(({ status }) => status)).toEqual(others.map(() => 404));
    expect(problems).toEqual([]);
  });
});

function withoutPoweredBy(responses: readonly RawResponse[]): readonly RawResponse[] {
  return responses.map((response) => ({
    ...response,
    headers: response.headers.filter(([name]) => name !== "X-Powered-By"),
  }));
}

describe("Koa", () => {
  const serve: Koa.Middleware = (context, next) => {
    if (!endpoint.matches(context.originalUrl)) return next();
    context.respond = false;
    return endpoint.listener(context.req, context.res);
  };

  test("middleware around it that sets a body, a status or headers comes too late", async () => {
    const app = new Koa();
    app.use(async (context, next) => {
      await next();
      context.set("ETag", 'W/"other"');
      context.vary("Accept-Encoding");
      context.body = { keys: [] };
    });
    app.use(serve);
    expectExactly(await overSocket(serverOf(app.callback()), REQUESTS));
  });

  test("below a mounted application, which strips its prefix from the path", async () => {
    const app = new Koa();
    app.use(async (context, next) => {
      context.path = context.path.replace(/^\/oidc/, "");
      await next();
    });
    app.use(serve);
    expectExactly(await overSocket(serverOf(app.callback()), REQUESTS));
  });
});

describe("Hono", () => {
  const mounts: readonly (readonly [string, () => Hono])[] = [
    [
      "all, in front of middleware that compresses and makes ETags",
      () =>
        new Hono()
          .all(endpoint.pathname, (c) => endpoint.fetch(c.req.raw))
          .use(compress())
          .use(etag()),
    ],
    [
      "route, with routePath",
      () =>
        new Hono().route(
          "/oidc",
          new Hono().all(endpoint.routePath, (c) => endpoint.fetch(c.req.raw)),
        ),
    ],
    ["basePath", () => new Hono().basePath("/oidc").all(endpoint.routePath, (c) => endpoint.fetch(c.req.raw))],
    [
      "mount, with the whole URL",
      () =>
        new Hono().mount(
          "/oidc",
          (request: Request) =>
            endpoint.matches(request.url) ? endpoint.fetch(request) : new Response(null, { status: 404 }),
          { replaceRequest: false },
        ),
    ],
  ];
  test.each(mounts)("%s: the exact response on a Node server", async (_name, create) => {
    expectExactly(await overSocket(serverOf(getRequestListener(create().fetch)), REQUESTS));
    expect(problems).toEqual([]);
  });

  test("middleware in front compresses the set and weakens its ETag", async () => {
    const app = new Hono().use(compress()).all(endpoint.pathname, (c) => endpoint.fetch(c.req.raw));
    const [response] = await overSocket(serverOf(getRequestListener(app.fetch)), REQUESTS.slice(0, 1));
    const headers = new Map(response?.headers.map(([name, value]) => [name.toLowerCase(), value]));
    expect(headers.get("content-encoding")).toBe("gzip");
    expect(headers.get("etag")).toBe(`W/${endpoint.respond("GET").headers["ETag"]}`);
  });

  describe("@hono/node-server 1", async () => {
    type Fetch = (request: Request, env: never) => Response | Promise<Response>;
    const { getRequestListener: listenerOf } = await importOldestHost<{
      getRequestListener(fetch: Fetch): Listener;
    }>("hono-node-server-1");
    const { RESPONSE_ALREADY_SENT } = await importOldestHost<{ RESPONSE_ALREADY_SENT: Response }>(
      "hono-node-server-1/utils/response",
    );

    test("adds a media type to a 304 of fetch", async () => {
      const app = new Hono().all(endpoint.pathname, (c) => endpoint.fetch(c.req.raw));
      const [response] = await overSocket(serverOf(listenerOf(app.fetch)), REQUESTS.slice(2, 3));
      const headers = new Map(response?.headers.map(([name, value]) => [name.toLowerCase(), value]));
      expect([response?.status, headers.get("content-type")]).toEqual([304, "text/plain; charset=UTF-8"]);
    });

    test("sends the exact response of the listener", async () => {
      const app = new Hono<{ Bindings: HttpBindings }>().all(endpoint.pathname, (c) => {
        endpoint.listener(c.env.incoming, c.env.outgoing);
        return RESPONSE_ALREADY_SENT;
      });
      expectExactly(await overSocket(serverOf(listenerOf(app.fetch)), REQUESTS));
    });
  });
});
