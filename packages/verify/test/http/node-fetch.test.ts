import { getEventListeners, once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createRemoteKeySet } from "@signpost/verify";
import type { RemoteKeyFunction } from "@signpost/verify";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { nodeFetch } from "../../src/http/node-fetch.ts";
import type { FetchInit, FetchResponseLike } from "../../src/http/request.ts";
import { testKey } from "../support/keys.ts";
import { close, END, jsonAnswer, rawServer, RESET, wholeAnswer } from "../support/raw-server.ts";
import { eventually } from "../support/remote.ts";

const JWKS = JSON.stringify({ keys: [testKey("a").jwk] });

function ask(url: string, init: Partial<FetchInit> = {}): Promise<FetchResponseLike> {
  const { signal } = new AbortController();
  return nodeFetch(url, { method: "GET", headers: {}, redirect: "manual", signal, ...init });
}

async function textOf({ body }: FetchResponseLike): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Until a connection whose answer was read is idle. */
const idle = (): Promise<void> => pause(20);

function keySetAt(port: number, host: string = "127.0.0.1"): RemoteKeyFunction {
  return createRemoteKeySet(`http://${host}:${port}/jwks`, { fetch: nodeFetch, allowInsecureLoopback: true });
}

describe("a request", () => {
  it("asks for no compression, and names its user agent", async () => {
    const server = await rawServer(() => [jsonAnswer("{}")]);
    await textOf(await ask(`http://127.0.0.1:${server.port}/jwks?a=b`, { headers: { accept: "application/json" } }));
    const [startLine, ...headers] = (server.requests[0] ?? "").trimEnd().split("\r\n");
    expect(startLine).toBe("GET /jwks?a=b HTTP/1.1");
    expect(headers.map((line) => line.toLowerCase()).toSorted()).toEqual([
      "accept-encoding: identity",
      "accept: application/json",
      "connection: keep-alive",
      `host: 127.0.0.1:${server.port}`,
      "user-agent: signpost",
    ]);
  });

  it.each(["6000", "22", "25", "10080"])("is not sent to port %s, which fetch blocks", async (port) => {
    await expect(ask(`http://127.0.0.1:${port}/jwks`)).rejects.toMatchObject({ cause: { message: "bad port" } });
  });

  it("reaches an IPv6 address", async () => {
    const server = await rawServer(() => [jsonAnswer(JWKS)], "::1");
    await keySetAt(server.port, "[::1]").preload();
    expect(server.requests[0]).toContain(`\r\nHost: [::1]:${server.port}\r\n`);
  });

  it("reaches a name whose other address refuses the connection", async () => {
    const server = await rawServer(() => [jsonAnswer(JWKS)]);
    await keySetAt(server.port, "localhost").preload();
    expect(server.requests).toHaveLength(1);
  });
});

test("values of a header that was sent several times are joined, as fetch joins them", async () => {
  const repeated = "Cache-Control: public\r\nage: 1\r\ncache-control: max-age=77\r\nAge: 2\r\nvary: a\r\nvary: b\r\n";
  const server = await rawServer(() => [jsonAnswer("{}", repeated)]);
  const { headers } = await ask(`http://127.0.0.1:${server.port}/`);
  const read = ["cache-control", "age", "vary", "etag"].map((name) => headers.get(name));
  expect(read).toEqual(["public, max-age=77", "1, 2", "a, b", null]);
});

describe("a kept connection", () => {
  it.each<[string, Partial<FetchInit>, Buffer | string]>([
    ["a body that was read", {}, jsonAnswer("{}")],
    ["HEAD", { method: "HEAD" }, "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n"],
    ["204", {}, "HTTP/1.1 204 X\r\n\r\n"],
    ["304", {}, "HTTP/1.1 304 X\r\ncontent-length: 99\r\n\r\n"],
  ])("serves the next request after %s", async (_name, init, answer) => {
    const server = await rawServer(() => [answer]);
    for (let request = 0; request < 3; request += 1) {
      await textOf(await ask(`http://127.0.0.1:${server.port}/`, init));
      await idle();
    }
    expect([server.requests.length, server.connections.length]).toEqual([3, 1]);
  });

  it("is not used by a request that closes its connection", async () => {
    const server = await rawServer(() => [jsonAnswer("{}")]);
    const url = `http://127.0.0.1:${server.port}/`;
    await textOf(await ask(url));
    await idle();
    await textOf(await ask(url, { headers: { connection: "close" } }));
    await eventually(() => server.connections[1]?.destroyed === true);
    expect(server.requests[1]?.toLowerCase()).toContain("\r\nconnection: close\r\n");
    expect(server.connections).toHaveLength(2);
  });

  it.each([END, RESET])("that the server closes while it is idle ($how) fails no refresh", async (ending) => {
    const server = await rawServer(() => [jsonAnswer(JWKS)]);
    const keySet = keySetAt(server.port);
    await keySet.refresh();
    await idle();
    close(server.connections[0], ending);
    await keySet.refresh();
    expect(keySet.stats()).toMatchObject({ updated: 2, failed: 0 });
  });

  it.each([END, RESET])(
    "that dies under a request ($how) fails no refresh, nor do the other idle ones",
    async (ending) => {
      // All kept connections die with their second request. So only a new connection can bring an answer.
      const server = await rawServer(({ request }) => (request === 0 ? [jsonAnswer(JWKS)] : ["", ending]));
      const url = `http://127.0.0.1:${server.port}/jwks`;
      const answers = await Promise.all([ask(url), ask(url), ask(url)]);
      await Promise.all(answers.map(textOf));
      await idle();
      const keySet = keySetAt(server.port);
      await keySet.refresh();
      expect(keySet.stats()).toMatchObject({ updated: 1, failed: 0, requests: 2 });
    },
  );

  it("is closed when it has been idle, and no more than 4 stay open", async () => {
    const server = await rawServer(() => [jsonAnswer("{}")]);
    const url = `http://127.0.0.1:${server.port}/`;
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(url)));
    await Promise.all(answers.map(textOf));
    const open = (): number => server.connections.filter(({ destroyed }) => !destroyed).length;
    await eventually(() => open() === 4);
    expect(server.connections).toHaveLength(8);
    await expect.poll(open, { timeout: 20_000 }).toBe(0);
  });

  it("is closed if an answer comes before its request", async () => {
    const unasked = jsonAnswer("unasked");
    const server = await rawServer(({ connection }) => [jsonAnswer(`of connection ${connection}`)]);
    const url = `http://127.0.0.1:${server.port}/`;
    expect(await textOf(await ask(url))).toBe("of connection 0");
    await idle();
    server.connections[0]?.write(unasked);
    await eventually(() => server.connections[0]?.destroyed === true);
    expect(await textOf(await ask(url))).toBe("of connection 1");
  });
});

describe("an answer whose body is not wanted", () => {
  it("closes the connection when it is canceled", async () => {
    const server = await rawServer(() => [wholeAnswer("404 X", "x".repeat(99))]);
    const { body } = await ask(`http://127.0.0.1:${server.port}/`);
    await (body as { cancel(): Promise<unknown> }).cancel();
    await eventually(() => server.connections[0]?.destroyed === true);
    expect(server.connections).toHaveLength(1);
  });

  it("closes the connection when reading stops", async () => {
    const server = await rawServer(() => ["HTTP/1.1 200 OK\r\n\r\nendless", "endless"]);
    const { body } = await ask(`http://127.0.0.1:${server.port}/`);
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      expect(Buffer.from(chunk).toString()).toBe("endless");
      break;
    }
    await eventually(() => server.connections[0]?.destroyed === true);
    expect(server.connections).toHaveLength(1);
  });
});

describe("an abort", () => {
  const reason = new Error("the caller's reason");

  /** Accepts connections, and says nothing. */
  async function silentServer(): Promise<{ readonly port: number; readonly connections: readonly Socket[] }> {
    const connections: Socket[] = [];
    const server = createServer((socket) => {
      connections.push(socket.on("error", () => {}));
      socket.resume();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => {
      server.close();
      for (const socket of connections) socket.destroy();
    });
    return { port: (server.address() as AddressInfo).port, connections };
  }

  it("before the request sends nothing", async () => {
    const server = await silentServer();
    await expect(ask(`http://127.0.0.1:${server.port}/`, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await idle();
    expect(server.connections).toHaveLength(0);
  });

  it.each([
    ["in the TLS handshake", "https"],
    ["while it waits for the answer", "http"],
  ])("%s closes the connection", async (_stage, scheme) => {
    const server = await silentServer();
    const controller = new AbortController();
    const asked = ask(`${scheme}://127.0.0.1:${server.port}/`, { signal: controller.signal });
    await eventually(() => server.connections.length === 1);
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await eventually(() => server.connections[0]?.destroyed === true);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  it.each([
    ["a body", ""],
    ["a compressed body", "content-encoding: gzip\r\n"],
    ["a deflated body", "content-encoding: deflate\r\n"],
  ])("in %s closes the connection", async (_name, headers) => {
    const server = await rawServer(() => [`HTTP/1.1 200 OK\r\n${headers}content-length: 99\r\n\r\n`]);
    const controller = new AbortController();
    const answer = await ask(`http://127.0.0.1:${server.port}/`, { signal: controller.signal });
    const reading = textOf(answer);
    await idle();
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await eventually(() => server.connections[0]?.destroyed === true);
    await eventually(() => getEventListeners(controller.signal, "abort").length === 0);
  });

  it("after the answer finds no listener of the request", async () => {
    const server = await rawServer(() => [jsonAnswer("{}")]);
    const { signal } = new AbortController();
    await textOf(await ask(`http://127.0.0.1:${server.port}/`, { signal }));
    await eventually(() => getEventListeners(signal, "abort").length === 0);
    expect(server.requests).toHaveLength(1);
  });
});
