import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { createJwksEndpoint, createKeySet, type JwksEndpointOptions, type KeySet, type Signer } from "@signpost/core";
import express from "express";
import fastify, { type FastifyPluginAsync } from "fastify";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import type { RawRequest, RawResponse } from "./support/raw-http.ts";
import { overSocket, SERVINGS } from "./support/servings.ts";

const BODY = Buffer.from(
  '{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",' +
    '"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","kid":"sig-golden","alg":"ES256","use":"sig"}]}',
);
const ETAG = '"9c44dcc938be11e00b03becb894520bbbdc1e4467c77bd699f18cb2529d7bbe6"';

const signer: Signer = {
  uri: "test:golden",
  publicKey: {
    kty: "EC",
    crv: "P-256",
    x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  },
  sign: () => Promise.reject(new Error("publishing a key must not sign")),
  close: () => Promise.resolve(),
};
const keys = createKeySet([{ keyId: "sig-golden", signer }]);

type Options = Partial<JwksEndpointOptions>;
const LONG: Options = {};
const ROTATION: Options = { jwksRotationActive: () => true };
const CORS: Options = { cors: true };
const WEAK: Options = { weakIfNoneMatch: "match" };
const NO_KEYS: Options = {
  keys: (): KeySet => {
    throw new Error("the source has no set yet");
  },
};

interface Expected {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

const LONG_CACHE = "public, max-age=3600, stale-while-revalidate=3600";
const ROTATION_CACHE = "public, max-age=300, must-revalidate";

const ok = (cache: string, more: Record<string, string> = {}): Expected => ({
  status: 200,
  headers: {
    "content-type": "application/jwk-set+json",
    "cache-control": cache,
    etag: ETAG,
    allow: "GET, HEAD",
    "content-length": "182",
    ...more,
  },
  body: BODY,
});
const withoutBody = (expected: Expected): Expected => ({ ...expected, body: null });
const notModified = (cache: string, more: Record<string, string> = {}): Expected => ({
  status: 304,
  headers: { etag: ETAG, "cache-control": cache, ...more },
  body: null,
});
const plain = (status: number, text: string, more: Record<string, string>): Expected => ({
  status,
  headers: {
    "content-type": "text/plain",
    "content-length": String(text.length),
    "cache-control": "no-store",
    ...more,
  },
  body: Buffer.from(text),
});
const notAllowed = (more: Record<string, string> = {}): Expected =>
  plain(405, "method not allowed\n", { allow: "GET, HEAD", ...more });
const failed = (more: Record<string, string> = {}): Expected => plain(500, "internal server error\n", more);

const CORS_HEADERS = { "access-control-allow-origin": "*", "access-control-expose-headers": "ETag" };
const USUAL_HEADERS = "If-None-Match, Cache-Control";
const preflight = (allowed: string): Expected => ({
  status: 204,
  headers: {
    ...CORS_HEADERS,
    "access-control-allow-methods": "GET, HEAD",
    "access-control-allow-headers": allowed,
    "access-control-max-age": "86400",
  },
  body: null,
});

const get = (...headers: [string, string][]): RawRequest => ({ method: "GET", headers });
const head = (...headers: [string, string][]): RawRequest => ({ method: "HEAD", headers });
const options = (...headers: [string, string][]): RawRequest => ({ method: "OPTIONS", headers });
const ORIGIN: [string, string] = ["Origin", "https://spa.example"];
const ASKED_METHOD: [string, string] = ["Access-Control-Request-Method", "GET"];
const inm = (...values: string[]): [string, string][] => values.map((value) => ["If-None-Match", value]);

const UNCHANGED = notModified(LONG_CACHE);
const WHOLE = ok(LONG_CACHE);

type Row = readonly [what: string, options: Options, request: RawRequest, expected: Expected];

const rows: readonly Row[] = [
  ["GET", LONG, get(), WHOLE],
  ["GET in rotation", ROTATION, get(), ok(ROTATION_CACHE)],
  ["HEAD", LONG, head(), withoutBody(WHOLE)],
  ["HEAD in rotation", ROTATION, head(), withoutBody(ok(ROTATION_CACHE))],

  ["GET with the ETag", LONG, get(...inm(ETAG)), UNCHANGED],
  ["HEAD with the ETag", LONG, head(...inm(ETAG)), UNCHANGED],
  ["GET with the ETag in rotation", ROTATION, get(...inm(ETAG)), notModified(ROTATION_CACHE)],
  ["HEAD with the ETag in rotation", ROTATION, head(...inm(ETAG)), notModified(ROTATION_CACHE)],
  ["GET with *", LONG, get(...inm("*")), UNCHANGED],
  ["HEAD with *", LONG, head(...inm("*")), UNCHANGED],
  ["GET with a list", LONG, get(...inm(`"a", ${ETAG}, "b"`)), UNCHANGED],
  ["GET with a tag that holds a comma", LONG, get(...inm(`"a,b",${ETAG}`)), UNCHANGED],
  ["GET with the header twice", LONG, get(...inm('"a"', ETAG)), UNCHANGED],
  ["GET with the header twice, the ETag first", LONG, get(...inm(ETAG, '"a"')), UNCHANGED],
  ["GET with another ETag", LONG, get(...inm('"a"')), WHOLE],
  ["HEAD with another ETag", LONG, head(...inm('"a"')), withoutBody(WHOLE)],
  ["GET with an unquoted ETag", LONG, get(...inm(ETAG.slice(1, -1))), WHOLE],
  ["GET with the ETag after an unquoted member", LONG, get(...inm(`a, ${ETAG}`)), UNCHANGED],
  ["GET with * inside a list", LONG, get(...inm('"a", *')), WHOLE],
  ["GET with * twice", LONG, get(...inm("*", "*")), WHOLE],
  ["GET with an empty header", LONG, get(...inm("")), WHOLE],
  ["GET with the ETag weakened", LONG, get(...inm(`W/${ETAG}`)), WHOLE],
  ["HEAD with the ETag weakened", LONG, head(...inm(`W/${ETAG}`)), withoutBody(WHOLE)],
  ["GET with w/", LONG, get(...inm(`w/${ETAG}`)), WHOLE],
  ["GET with weak and strong", LONG, get(...inm(`W/${ETAG}, ${ETAG}`)), UNCHANGED],
  ["GET with the ETag weakened, matching weakly", WEAK, get(...inm(`W/${ETAG}`)), UNCHANGED],
  ["HEAD with the ETag weakened, matching weakly", WEAK, head(...inm(`"a", W/${ETAG}`)), UNCHANGED],
  ["GET with w/, matching weakly", WEAK, get(...inm(`w/${ETAG}`)), WHOLE],

  ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "FOO", "get", "Head", ""].map(
    (method): Row => [method === "" ? "an empty method" : method, LONG, { method }, notAllowed()],
  ),
  [
    "POST with a body",
    LONG,
    { method: "POST", headers: [["Content-Type", "application/x-unknown"]], body: "a=b" },
    notAllowed(),
  ],
  ["POST with the ETag", LONG, { method: "POST", headers: inm(ETAG) }, notAllowed()],
  ["POST in rotation", ROTATION, { method: "POST" }, notAllowed()],

  ["GET with cors", CORS, get(["Origin", "https://spa.example"]), ok(LONG_CACHE, CORS_HEADERS)],
  ["HEAD with cors", CORS, head(), withoutBody(ok(LONG_CACHE, CORS_HEADERS))],
  ["GET with the ETag and cors", CORS, get(...inm(ETAG)), notModified(LONG_CACHE, CORS_HEADERS)],
  ["POST with cors", CORS, { method: "POST" }, notAllowed(CORS_HEADERS)],
  ["OPTIONS with cors", CORS, { method: "OPTIONS" }, notAllowed(CORS_HEADERS)],
  ["OPTIONS with cors and an origin", CORS, options(ORIGIN), notAllowed(CORS_HEADERS)],
  ["OPTIONS with cors and an asked method", CORS, options(ASKED_METHOD), notAllowed(CORS_HEADERS)],
  ["a preflight without cors", LONG, options(ORIGIN, ASKED_METHOD), notAllowed()],
  ["a preflight", CORS, options(ORIGIN, ASKED_METHOD), preflight(USUAL_HEADERS)],
  ...(
    [
      ["if-none-match", "if-none-match"],
      ["authorization,  x-request-id", "authorization, x-request-id"],
      ["traceparent,,", "traceparent"],
      ["*", "*"],
      ["a b", USUAL_HEADERS],
      ["x-one, <script>", USUAL_HEADERS],
      [",", USUAL_HEADERS],
      ["", USUAL_HEADERS],
    ] as const
  ).map(([asked, allowed]): Row => [
    `a preflight that asks for ${JSON.stringify(asked)}`,
    CORS,
    options(ORIGIN, ASKED_METHOD, ["Access-Control-Request-Headers", asked]),
    preflight(allowed),
  ]),
  ["GET without keys and with cors", { ...NO_KEYS, ...CORS }, get(), failed(CORS_HEADERS)],

  ["GET without keys", NO_KEYS, get(), failed()],
  ["HEAD without keys", NO_KEYS, head(), withoutBody(failed())],
  ["GET with * without keys", NO_KEYS, get(...inm("*")), failed()],
  ["POST without keys", NO_KEYS, { method: "POST" }, notAllowed()],

  ["an Accept that excludes the media type", LONG, get(["Accept", "text/html, application/jwk-set+json;q=0"]), WHOLE],
  ["Accept-Encoding", LONG, get(["Accept-Encoding", "gzip, br"]), WHOLE],
  ["a query", LONG, { method: "GET", target: "/jwks?cb=1" }, WHOLE],
  ["Authorization and a cookie", LONG, get(["Authorization", "Bearer x"], ["Cookie", "a=b"]), WHOLE],
  ["If-Modified-Since", LONG, get(["If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"]), WHOLE],
  ["If-Match", LONG, get(["If-Match", '"a"']), WHOLE],
  ["Range", LONG, get(["Range", "bytes=0-9"], ["If-Range", ETAG]), WHOLE],
  ["Cache-Control: no-cache with the ETag", LONG, get(["Cache-Control", "no-cache"], ...inm(ETAG)), UNCHANGED],
  ["GET with a body", LONG, { method: "GET", body: "ignored" }, WHOLE],
];

function endpointWith(options: Options) {
  return createJwksEndpoint({ issuer: "https://op.example", keys, ...options });
}

/** The header lines without those that the server may add. Two lines of one name stay two. */
function ownHeaders({ headers }: RawResponse, added: readonly string[]): [string, string][] {
  return headers
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => !added.includes(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function expectExactly(response: RawResponse | undefined, expected: Expected, added: readonly string[]): void {
  expect(response?.status).toBe(expected.status);
  expect(response && ownHeaders(response, added)).toEqual(
    Object.entries(expected.headers).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  expect(response?.body.toString("latin1")).toBe((expected.body ?? "").toString("latin1"));
}

describe.for(SERVINGS)("$name", (serving) => {
  test.for(rows.filter(([, , { method }]) => serving.carries(method)))("%s", async ([, options, request, expected]) => {
    const [response] = await serving.ask(endpointWith(options), [request]);
    expectExactly(response, expected, serving.added);
  });

  test("answers on one connection stay apart: none has a byte that its headers do not announce", async () => {
    const requests: RawRequest[] = [
      head(),
      get(...inm(ETAG)),
      { method: "POST", headers: [["Content-Type", "text/plain"]], body: "x".repeat(1000) },
      get(),
      head(...inm("*")),
      get(),
    ];
    const expected = [withoutBody(WHOLE), UNCHANGED, notAllowed(), WHOLE, UNCHANGED, WHOLE];
    const responses = await serving.ask(endpointWith(LONG), requests);
    expect(responses).toHaveLength(expected.length);
    for (const [index, answer] of expected.entries()) expectExactly(responses[index], answer, serving.added);
  });

  test("a key set that spans many packets arrives whole", async () => {
    const retiring = Array.from({ length: 500 }, (_, index) => {
      const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      return { keyId: `schlüssel-${index}`, publicKey: publicKey.export({ format: "jwk" }) };
    });
    const endpoint = endpointWith({ keys: createKeySet([{ keyId: "sig", signer }, ...retiring]) });
    const { body, headers } = endpoint.respond("GET");
    const [response] = await serving.ask(endpoint, [get()]);
    expect(response?.body.equals(body ?? Buffer.of())).toBe(true);
    expect(new Map(response?.headers.map(([name, value]) => [name.toLowerCase(), value])).get("content-length")).toBe(
      headers["Content-Length"],
    );
  });
});

describe("what was set on the response before", () => {
  const own = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-cache",
    ETag: 'W/"a"',
    Pragma: "no-cache",
    "Surrogate-Control": "max-age=86400",
    "CDN-Cache-Control": "max-age=86400",
    "Vendor-CDN-Cache-Control": "max-age=86400",
    "Akamai-Cache-Control": "max-age=86400",
    "Edge-Control": "max-age=86400",
    "X-Accel-Expires": "86400",
    "Content-Encoding": "gzip",
    "Transfer-Encoding": "chunked",
    "Set-Cookie": ["sid=1; HttpOnly", "csrf=2"],
  };
  const foreign = { "Strict-Transport-Security": "max-age=1", Vary: "Origin" };

  test.for([
    ["200", get(), WHOLE],
    ["304", get(...inm(ETAG)), UNCHANGED],
    ["405", { method: "POST" }, notAllowed()],
  ] as const)("stays in a %s, unless the header is the endpoint's own", async ([, request, expected]) => {
    const { listener } = endpointWith(LONG);
    const server = createServer((req, res) => {
      for (const [name, value] of Object.entries({ ...own, ...foreign })) res.setHeader(name, value);
      listener(req, res);
    });
    const [response] = await overSocket(server, [request]);
    const headers = { ...expected.headers, "strict-transport-security": "max-age=1", vary: "Origin" };
    expectExactly(response, { ...expected, headers }, ["date", "connection"]);
  });

  test("for one origin is gone where any may read, and what else responses vary by stays", async () => {
    const { listener } = endpointWith(CORS);
    const vary = ["Origin", "Accept-Encoding, origin"];
    const server = createServer((req, res) => {
      res.setHeader("Vary", vary.shift() ?? "");
      res.setHeader("Access-Control-Allow-Origin", "https://spa.example");
      res.setHeader("Access-Control-Allow-Credentials", "true");
      listener(req, res);
    });
    const responses = await overSocket(server, [get(), get()]);
    expectExactly(responses[0], ok(LONG_CACHE, CORS_HEADERS), ["date", "connection", "keep-alive"]);
    const varied = ok(LONG_CACHE, { ...CORS_HEADERS, vary: "Accept-Encoding" });
    expectExactly(responses[1], varied, ["date", "connection", "keep-alive"]);
  });

  test("is the whole answer, where something answered already", async () => {
    const { listener } = endpointWith(LONG);
    const server = createServer((req, res) => {
      res.writeHead(503, { "Content-Length": 4 }).end("busy");
      listener(req, res);
    });
    const [response] = await overSocket(server, [get()]);
    expect([response?.status, response?.body.toString()]).toEqual([503, "busy"]);
  });
});

describe("a path is the router's business", () => {
  const ask = async (options: Options, target: string) => {
    const endpoint = endpointWith(options);
    const app = express().enable("strict routing").enable("case sensitive routing");
    app.all(endpoint.pathname, endpoint.listener);
    const [response] = await overSocket(createServer(app), [{ method: "GET", target }]);
    return response?.status;
  };

  test.for(["/jwks/", "//jwks", "/JWKS", "/jwks.json", "/", "/oidc/jwks"])("%s is not the key set", async (target) => {
    expect(await ask(LONG, target)).toBe(404);
  });

  test("the configured path is what the router mounts and what discovery says", async () => {
    const options = { mountPrefix: "/oidc", endpoints: { jwks: "/keys.json" } };
    expect(await ask(options, "/oidc/keys.json")).toBe(200);
    expect(new URL(endpointWith(options).metadata.jwks_uri).pathname).toBe("/oidc/keys.json");
  });
});

describe("a router that is mounted at the issuer's path takes routePath, and answers at jwksUri", () => {
  const options: Options = { issuer: "https://op.example/tenant", mountPrefix: "/oidc" };
  const requests = ["/tenant/oidc/jwks", "/tenant/jwks", "/oidc/jwks", "/jwks"].map((target) => ({
    method: "GET",
    target,
  }));
  const expectJwksUriAlone = (responses: readonly (Response | RawResponse)[]): void => {
    expect(new URL(endpointWith(options).jwksUri).pathname).toBe("/tenant/oidc/jwks");
    expect(responses.map(({ status }) => status)).toEqual([200, 404, 404, 404]);
  };

  test("in Express", async () => {
    const { routePath, listener } = endpointWith(options);
    const app = express().use(
      "/tenant",
      express.Router({ strict: true, caseSensitive: true }).all(routePath, listener),
    );
    expectJwksUriAlone(await overSocket(createServer(app), requests));
  });

  test("in Fastify", async () => {
    const { routePath, listener } = endpointWith(options);
    const app = fastify();
    const tenant: FastifyPluginAsync = async (below) => {
      below.all(routePath, async (request, reply) => {
        reply.hijack();
        listener(request.raw, reply.raw);
      });
    };
    await app.register(tenant, { prefix: "/tenant" });
    await app.ready();
    try {
      expectJwksUriAlone(await overSocket(app.server, requests));
    } finally {
      await app.close();
    }
  });

  test("in Hono", async () => {
    const endpoint = endpointWith(options);
    const tenant = new Hono().all(endpoint.routePath, (context) => endpoint.fetch(context.req.raw));
    const app = new Hono().route("/tenant", tenant);
    const ask = async ({ target }: (typeof requests)[number]) => app.request(`https://op.example${target}`);
    expectJwksUriAlone(await Promise.all(requests.map(ask)));
  });
});
