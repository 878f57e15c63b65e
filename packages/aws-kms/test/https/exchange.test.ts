import { getEventListeners } from "node:events";
import {
  createServer,
  Agent,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, Agent as HttpsAgent } from "node:https";
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { exchange, type Post, type Target } from "../../src/https/exchange.ts";

const agent = new Agent({ keepAlive: true });
afterEach(() => agent.destroy());
const POST: Post = { headers: { "content-type": "text/plain" }, body: "question", signal: undefined };

async function listen(server: Server | TcpServer, host = "127.0.0.1"): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, host, listening));
  onTestFinished(() => {
    server.close();
    if ("closeAllConnections" in server) server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

async function serve(answer: (...args: Parameters<RequestListener>) => unknown, host = "127.0.0.1"): Promise<Target> {
  const port = await listen(
    createServer((incoming, response) => void answer(incoming, response)),
    host,
  );
  return { plaintext: true, hostname: host, port, path: "/", agent, timeoutMs: 5000 };
}

async function readText(incoming: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of incoming) text += String(chunk);
  return text;
}

describe("an exchange", () => {
  test("sends the body, and returns status, headers and body of any answer", async () => {
    const target = await serve(async (incoming, response) => {
      response.writeHead(418, { "x-answer": "yes" });
      response.write(`${incoming.method} ${incoming.url} ${await readText(incoming)}`);
      response.end(" in two parts");
    });
    const reply = await exchange({ ...target, path: "/a%20path" }, POST);
    expect(reply).toMatchObject({ status: 418, headers: { "x-answer": "yes" } });
    expect(reply.body.toString()).toBe("POST /a%20path question in two parts");
  });

  test("follows no redirect", async () => {
    const urls: (string | undefined)[] = [];
    const target = await serve((incoming, response) => {
      urls.push(incoming.url);
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    await expect(exchange(target, POST)).resolves.toMatchObject({ status: 307 });
    expect(urls).toEqual(["/"]);
  });

  test("returns the status of a connection that was switched to another protocol, and closes it", async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const target = await serve((incoming, response) => {
      closed = new Promise((resolve) => incoming.socket.once("close", resolve));
      response.writeHead(101, { connection: "upgrade", upgrade: "other" }).flushHeaders();
    });
    await expect(exchange({ ...target, timeoutMs: 400 }, POST)).resolves.toMatchObject({ status: 101 });
    await closed;
  });

  test("uses a connection again", async () => {
    const ports = new Set<number | undefined>();
    const target = await serve((incoming, response) => {
      ports.add(incoming.socket.remotePort);
      response.end("{}");
    });
    for (let call = 0; call < 5; call += 1) await exchange(target, POST);
    expect(ports.size).toBe(1);
  });

  test("reaches an IPv6 address", async () => {
    const target = await serve((_incoming, response) => response.end("{}"), "::1");
    await expect(exchange(target, POST)).resolves.toMatchObject({ status: 200 });
  });

  test.each<[string, (response: ServerResponse) => void, string]>([
    ["cut before the answer", (response) => response.destroy(), "ECONNRESET"],
    [
      "cut inside the body",
      (response) => {
        response.writeHead(200, { "content-length": 100 });
        response.write("part", () => response.destroy());
      },
      "ECONNRESET",
    ],
    ["longer than 64 KiB", (response) => response.end("x".repeat(65_537)), "HPE_TOO_LONG"],
    ["longer than 64 KiB, in parts", (response) => writeForever(response), "HPE_TOO_LONG"],
  ])("rejects with the code of a system error for an answer that is %s", async (_what, answer, code) => {
    const target = await serve((_incoming, response) => answer(response));
    await expect(exchange(target, POST)).rejects.toMatchObject({ code });
  });

  test("accepts an answer of 64 KiB", async () => {
    const target = await serve((_incoming, response) => response.end("x".repeat(65_536)));
    await expect(exchange(target, POST)).resolves.toMatchObject({ body: { length: 65_536 } });
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ["no head", () => undefined],
    ["no body", (response) => response.writeHead(200).flushHeaders()],
    ["no end of its body", (response) => response.write("part")],
  ])("times out with %s, and closes the connection", async (_what, answer) => {
    let closed: Promise<unknown> = Promise.resolve();
    const target = await serve((incoming, response) => {
      closed = new Promise((resolve) => incoming.socket.once("close", resolve));
      answer(response);
    });
    await expect(exchange({ ...target, timeoutMs: 100 }, POST)).rejects.toMatchObject({ code: "ETIMEDOUT" });
    await closed;
  });

  test("waits for a connection for half of its time", async () => {
    const silent = createTcpServer();
    const port = await listen(silent);
    const target: Target = {
      plaintext: false,
      hostname: "127.0.0.1",
      port,
      path: "/",
      agent: new HttpsAgent(),
      timeoutMs: 200,
    };
    await expect(exchange(target, POST)).rejects.toMatchObject({
      code: "ETIMEDOUT",
      message: "no connection within 100 ms",
    });
  });

  test("rejects with the reason of its signal, and closes the connection", async () => {
    const caller = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    const target = await serve((incoming) => {
      closed = new Promise((resolve) => incoming.socket.once("close", resolve));
      caller.abort(new Error("enough"));
    });
    await expect(exchange(target, { ...POST, signal: caller.signal })).rejects.toThrow("enough");
    await closed;
    await expect(exchange(target, { ...POST, signal: caller.signal })).rejects.toThrow("enough");
  });

  test("leaves no listener on a signal that outlives it", async () => {
    const target = await serve((_incoming, response) => response.end("{}"));
    const { signal } = new AbortController();
    await exchange(target, { ...POST, signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("rejects a header that cannot be sent", async () => {
    const target = await serve((_incoming, response) => response.end("{}"));
    const headers = { authorization: "a\nb" };
    await expect(exchange(target, { ...POST, headers })).rejects.toMatchObject({ code: "ERR_INVALID_CHAR" });
  });
});

function writeForever(response: ServerResponse): void {
  const write = (): void => void (response.destroyed || response.write("x".repeat(10_000), write));
  write();
}

describe("an exchange over TLS", () => {
  const { cert, key } = selfSignedCertificate("localhost");

  async function serveTls(onConnection: (socket: TLSSocket) => void): Promise<number> {
    const server = createTlsServer({ cert, key }, (_incoming, response) => response.end("{}"));
    server.on("secureConnection", onConnection);
    return listen(server);
  }

  test("refuses a certificate that it does not trust", async () => {
    const port = await serveTls(() => undefined);
    const target: Target = {
      plaintext: false,
      hostname: "localhost",
      port,
      path: "/",
      agent: new HttpsAgent(),
      timeoutMs: 5000,
    };
    await expect(exchange(target, POST)).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  });

  test("resumes a TLS session on a new connection", async () => {
    const resumed: boolean[] = [];
    const port = await serveTls((socket) => void resumed.push(socket.isSessionReused()));
    const own = new HttpsAgent({ ca: cert, keepAlive: true });
    const target: Target = { plaintext: false, hostname: "localhost", port, path: "/", agent: own, timeoutMs: 5000 };
    await exchange(target, POST);
    for (const socket of Object.values(own.freeSockets).flat()) socket?.destroy();
    await exchange(target, POST);
    own.destroy();
    expect(resumed).toEqual([false, true]);
  });
});
