import type { IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Nginx, RECOMMENDED_CONF, startNginx } from "@signpost/test-backends/nginx";
import { ask } from "./support/ask.ts";
import { type LoopbackServer, startLoopbackServer } from "./support/loopback-server.ts";
import { exchange, type RawRequest } from "./support/raw-http.ts";

// What one client sends must not change what nginx hands out to the others.

interface Seen {
  readonly target: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

const HOST = "op.example";
const KEY_SET = '{"keys":[]}';
let seen: Seen[];
let op: LoopbackServer;
let nginx: Nginx;

/** One set for each host, as an OP with tenants has it. */
const keySetOf = (host: string): string => (host === HOST ? KEY_SET : JSON.stringify({ keys: [], host }));

/** An OP that is easy to confuse: whatever is not exactly a request for the key set gets a page that may be stored. */
function answer({ target, headers, body }: Seen): { type: string; text: string } {
  const { host = "", connection: _connection, "cache-control": _cacheControl, ...others } = headers;
  const plain = target === "/jwks" && Object.keys(others).length === 0 && body === "";
  return plain
    ? { type: "application/jwk-set+json", text: keySetOf(host) }
    : { type: "text/html", text: `a page for ${target} ${JSON.stringify(others)} ${body}` };
}

beforeEach(async () => {
  seen = [];
  op = await startLoopbackServer((req, res) => {
    let body = "";
    req.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    req.on("end", () => {
      const request = { target: req.url ?? "", headers: req.headers, body };
      seen.push(request);
      const { type, text } = answer(request);
      res.writeHead(200, {
        "content-type": type,
        "cache-control": "public, max-age=3600",
        "content-length": text.length,
      });
      res.end(text);
    });
  });
  nginx = await startNginx({ conf: RECOMMENDED_CONF, upstreams: [op.port] });
});
afterEach(async () => {
  await nginx.stop();
  await op.close();
});

async function keySetFor(host: string): Promise<string> {
  const { body } = await ask(nginx.origin, { headers: { host } });
  return body.toString();
}

describe("behind the recommended nginx configuration the key set stays what it is", () => {
  test.each<[string, Omit<RawRequest, "method">]>([
    ["two slashes", { target: "//jwks" }],
    ["a percent escape", { target: "/%6Awks" }],
    ["dot segments", { target: "/a/.././jwks" }],
    ["a fragment", { target: "/jwks#a" }],
    ["a query", { target: "/jwks?kid=a" }],
    ["absolute form of another host", { target: "http://other.example/jwks" }],
    ["a header of a proxy", { headers: [["X-Forwarded-Prefix", "/evil"]] }],
    ["another method by header", { headers: [["X-HTTP-Method-Override", "DELETE"]] }],
    ["what it would like to get", { headers: [["Accept", "text/html"]] }],
    ["another encoding", { headers: [["Accept-Encoding", "gzip, br"]] }],
    ["a part of it", { headers: [["Range", "bytes=0-2"]] }],
    ["another origin", { headers: [["Origin", "https://evil.example"]] }],
    [
      "Authorization and a cookie",
      {
        headers: [
          ["Authorization", "Bearer secret"],
          ["Cookie", "session=secret"],
        ],
      },
    ],
    ["a body", { body: "a=b" }],
  ])("after a request with %s", async (_name, request) => {
    for (const method of ["GET", "HEAD"]) {
      // Bypasses the stored answer, so that a new one is stored.
      const headers = [...(request.headers ?? []), ["Cache-Control", "no-cache"] as const];
      await exchange(nginx.port, [{ ...request, method, headers }]);
      expect(await keySetFor(HOST)).toBe(KEY_SET);
    }
  });

  test("of each host that one server block has", async () => {
    expect(await keySetFor("other.example")).toBe(keySetOf("other.example"));
    expect(await keySetFor(HOST)).toBe(KEY_SET);
    expect(await keySetFor("other.example")).toBe(keySetOf("other.example"));
    expect(seen).toHaveLength(2);
  });

  test("and the OP learns nothing of the request but the host and that it is to pass caches", async () => {
    const headers = [
      ["Authorization", "Bearer secret"],
      ["Cookie", "session=secret"],
    ] as const;
    await exchange(nginx.port, [
      {
        method: "GET",
        target: "/jwks?code=secret",
        headers: [...headers, ["Cache-Control", "no-cache"]],
        body: "secret",
      },
    ]);
    expect(seen).toEqual([{ target: "/jwks", headers: { host: HOST, "cache-control": "no-cache" }, body: "" }]);
  });

  test.each(["POST", "PUT", "DELETE", "OPTIONS"])("%s is passed on, and its answer not stored", async (method) => {
    expect(await keySetFor(HOST)).toBe(KEY_SET);
    await exchange(nginx.port, [{ method, body: method === "OPTIONS" ? undefined : "a=b" }]);
    await keySetFor(HOST);
    expect(seen).toHaveLength(2);
  });
});
