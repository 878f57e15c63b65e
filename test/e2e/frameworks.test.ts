import { createHash } from "node:crypto";
import { request } from "node:http";
import { createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FRAMEWORKS, type Start } from "./support/frameworks.ts";

const ISSUER = "https://op.example";
// Node's own, which say nothing about the document.
const CONNECTION_HEADERS = new Set(["date", "connection", "keep-alive", "transfer-encoding"]);

interface Answer {
  readonly status: number | undefined;
  /** Names as they were sent, sorted. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** Over node:http: fetch would follow, decompress and lower-case. */
function ask(port: number, method: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "localhost", port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const lines = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
        resolve({
          status: response.statusCode,
          headers: lines.filter(([name]) => !CONNECTION_HEADERS.has(name)).toSorted(([a], [b]) => (a < b ? -1 : 1)),
          body: Buffer.concat(chunks),
        });
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

const keys = createKeySet([{ signer: await openLocalSigner() }]);

describe.each(FRAMEWORKS)("the %s example", (_name, start) => {
  let server: Awaited<ReturnType<Start>>;
  let body: Buffer;
  let etag: string;
  let full: Answer["headers"];

  beforeAll(async () => {
    server = await start({ issuer: ISSUER, port: 0, keys });
    ({ body } = await ask(server.port, "GET", "/jwks"));
    etag = `"${createHash("sha256").update(body).digest("hex")}"`;
    full = [
      ["allow", "GET, HEAD"],
      ["cache-control", "public, max-age=3600, stale-while-revalidate=3600"],
      ["content-length", String(body.length)],
      ["content-type", "application/jwk-set+json"],
      ["etag", etag],
    ];
  });
  afterAll(() => server.close());

  test("GET sends exactly our headers: no charset, no second ETag, nothing of the framework's", async () => {
    expect(await ask(server.port, "GET", "/jwks")).toEqual({ status: 200, headers: full, body });
    expect(JSON.parse(body.toString())).toMatchObject({
      keys: [{ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" }],
    });
  });

  test("HEAD sends the same headers and no body", async () => {
    expect(await ask(server.port, "HEAD", "/jwks")).toEqual({ status: 200, headers: full, body: Buffer.alloc(0) });
  });

  test.each(["GET", "HEAD"])("%s with the ETag gets 304", async (method) => {
    const headers = [full[1], ["etag", etag]];
    const answer = await ask(server.port, method, "/jwks", { "If-None-Match": `"other", ${etag}` });
    expect(answer).toEqual({ status: 304, headers, body: Buffer.alloc(0) });
  });

  test.each([
    ["a weak ETag", () => ({ "If-None-Match": `W/${etag}` })],
    ["If-Modified-Since", () => ({ "If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT" })],
    ["Range", () => ({ Range: "bytes=0-3" })],
    ["an Accept that asks for something else", () => ({ Accept: "text/html" })],
    ["Accept-Encoding", () => ({ "Accept-Encoding": "gzip, br" })],
  ])("stays a full 200 with %s", async (_what, headers) => {
    expect(await ask(server.port, "GET", "/jwks", headers())).toEqual({ status: 200, headers: full, body });
  });

  test("a query changes nothing", async () => {
    expect(await ask(server.port, "GET", "/jwks?kid=a")).toEqual({ status: 200, headers: full, body });
  });

  test.each(["/jwks", "/jwks?kid=a"])(
    "a target in absolute form is the same (RFC 9112 section 3.2.2): %s",
    async (path) => {
      const answer = await ask(server.port, "GET", `http://op.example${path}`);
      expect(answer).toEqual({ status: 200, headers: full, body });
      const discovery = await ask(server.port, "GET", `${ISSUER}/.well-known/openid-configuration`);
      expect(JSON.parse(discovery.body.toString())).toMatchObject({ issuer: ISSUER });
    },
  );

  test.each(["POST", "PUT", "DELETE", "OPTIONS"])("%s gets 405 with what is allowed", async (method) => {
    const type = method === "POST" ? { "Content-Type": "application/x-www-form-urlencoded" } : {};
    expect(await ask(server.port, method, "/jwks", type)).toEqual({
      status: 405,
      headers: [
        ["allow", "GET, HEAD"],
        ["cache-control", "no-store"],
        ["content-length", "19"],
        ["content-type", "text/plain"],
      ],
      body: Buffer.from("method not allowed\n"),
    });
  });

  test.each(["/jwks/", "/JWKS", "/jwks/a"])("%s is another path", async (path) => {
    expect((await ask(server.port, "GET", path)).status).toBe(404);
  });

  test("the discovery document names the endpoint", async () => {
    const answer = await ask(server.port, "GET", "/.well-known/openid-configuration");
    expect(JSON.parse(answer.body.toString())).toEqual({
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/jwks`,
      id_token_signing_alg_values_supported: ["ES256"],
    });
  });
});

describe.each(FRAMEWORKS)("the %s example at the root of the host of an issuer that has a path", (_name, start) => {
  const issuer = `${ISSUER}/tenant/a`;
  let server: Awaited<ReturnType<Start>>;

  beforeAll(async () => {
    server = await start({ issuer, port: 0, keys });
  });
  afterAll(() => server.close());

  test("serves the key set where its discovery document says, which is below the issuer too", async () => {
    const discovery = await ask(server.port, "GET", "/tenant/a/.well-known/openid-configuration");
    const { jwks_uri: jwksUri } = JSON.parse(discovery.body.toString()) as { jwks_uri: string };
    expect(jwksUri).toBe(`${issuer}/jwks`);
    for (const target of [new URL(jwksUri).pathname, jwksUri]) {
      const { status, headers } = await ask(server.port, "GET", target);
      expect([status, Object.fromEntries(headers)["content-type"]]).toEqual([200, "application/jwk-set+json"]);
    }
  });

  test.each(["/jwks", "/tenant/jwks", "/tenant/a/jwks/", "/.well-known/openid-configuration"])(
    "has nothing at %s",
    async (path) => {
      expect((await ask(server.port, "GET", path)).status).toBe(404);
    },
  );
});
