import { once } from "node:events";
import { connect, createServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createJwksEndpoint } from "@signpost/core";
import { goldenSet } from "../support/key-fixtures.ts";

type Listener = (req: Http2ServerRequest, res: Http2ServerResponse) => void;

interface Answer {
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

/** Requests one path over HTTP/2, without TLS. */
async function client(listener: Listener): Promise<(headers: Record<string, string>) => Promise<Answer>> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(async () => {
    session.destroy();
    await once(server.close(), "close");
  });
  return async (headers) => {
    const stream = session.request({ ":path": "/oidc/jwks", ...headers }, { endStream: true });
    const [answered] = (await once(stream, "response")) as [Record<string, unknown>];
    const parts: Buffer[] = [];
    for await (const part of stream as AsyncIterable<Buffer>) parts.push(part);
    return { headers: answered, body: Buffer.concat(parts).toString() };
  };
}

const endpoint = createJwksEndpoint({ issuer: "https://op.example/oidc", keys: goldenSet(), cors: true });
const whole = endpoint.respond("GET");
const set = Buffer.from(whole.body ?? "").toString();

test("a server of node:http2 takes the listener as it is", async () => {
  const { headers, body } = await (await client(endpoint.listener))({});
  const { ETag, "Cache-Control": cacheControl } = whole.headers;
  expect(headers).toMatchObject({ ":status": 200, etag: ETag, "cache-control": cacheControl });
  expect(body).toBe(set);
});

test.each([
  ["HEAD", {}, 200, ""],
  ["GET", { "if-none-match": whole.headers.ETag ?? "" }, 304, ""],
  ["POST", {}, 405, "method not allowed\n"],
  ["OPTIONS", { origin: "https://app.example", "access-control-request-method": "GET" }, 204, ""],
])("%s %o is answered as over HTTP/1.1: %i", async (method, sent, status, text) => {
  const { headers, body } = await (await client(endpoint.listener))({ ":method": method, ...sent });
  expect(headers).toMatchObject({ ":status": status, "access-control-allow-origin": "*" });
  expect(headers).not.toHaveProperty("connection");
  expect(body).toBe(text);
});

test("the middleware answers its own path there, without a header that was set before", async () => {
  const ask = await client((req, res) => {
    res.setHeader("Set-Cookie", "session=1");
    res.setHeader("CDN-Cache-Control", "max-age=86400");
    endpoint.middleware(req, res, () => res.writeHead(404).end());
  });
  const { headers, body } = await ask({});
  expect(body).toBe(set);
  expect(headers).not.toHaveProperty("set-cookie");
  expect(headers).not.toHaveProperty("cdn-cache-control");
  expect((await ask({ ":path": "/other" })).headers).toMatchObject({ ":status": 404 });
});
