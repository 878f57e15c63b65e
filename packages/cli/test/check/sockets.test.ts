import { X509Certificate } from "node:crypto";
import { createServer as createTlsServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/check/probe/connect.ts";
import { get } from "../../src/check/probe/requests.ts";
import { send } from "../../src/check/probe/send.ts";
import type { Sending } from "../../src/check/probe/send.ts";
import { serveRaw } from "./support/serve.ts";

// What is seen of a connection, and of the bytes that come.

const NEVER = new AbortController().signal;
const SENDING: Sending = { timeoutMs: 60_000, maxBytes: 10, signal: NEVER, isPublicOnly: false };

describe("a connection with TLS", () => {
  const certificate = selfSignedCertificate("localhost");

  /** A server that tells of each connection what it was asked for. */
  async function listening() {
    const asked: { name: unknown; protocol: unknown }[] = [];
    const server = createTlsServer({ ...certificate, ALPNProtocols: ["h2", "http/1.1"] }, (socket: TLSSocket) => {
      socket.on("error", () => undefined);
      const name: unknown = Reflect.get(socket, "servername");
      asked.push({ name: typeof name === "string" ? name : "", protocol: socket.alpnProtocol });
    }).listen(0, "127.0.0.1");
    server.on("tlsClientError", () => undefined);
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return { asked, port: (server.address() as AddressInfo).port };
  }

  test.each([
    ["https://op.example/jwks", "op.example"],
    ["https://127.0.0.1/jwks", ""],
  ])("for %s asks for the name %s, and for HTTP/1.1", async (url, name) => {
    const { asked, port } = await listening();
    const { socket, tls } = await connect(new URL(url), { host: "127.0.0.1", port }, NEVER);
    await expect.poll(() => asked, { timeout: 60_000 }).toEqual([{ name, protocol: "http/1.1" }]);
    expect(tls).toEqual({
      protocol: "TLSv1.3",
      fault: "DEPTH_ZERO_SELF_SIGNED_CERT",
      validUntil: Date.parse(new X509Certificate(certificate.cert).validTo),
    });
    socket.destroy();
  });
});

describe("a connection without TLS", () => {
  test("has no session", async () => {
    const port = await serveRaw(() => undefined);
    const { socket, tls } = await connect(new URL("http://127.0.0.1"), { host: "127.0.0.1", port }, NEVER);
    expect(tls).toBeUndefined();
    socket.destroy();
  });

  test("is not opened for a command that has ended", async () => {
    let connections = 0;
    const port = await serveRaw(() => void (connections += 1));
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(connect(new URL("http://127.0.0.1"), { host: "127.0.0.1", port }, signal)).rejects.toThrow("stopped");
    expect(connections).toBe(0);
  });
});

/** What is recorded of an answer that a server sends to the first bytes it gets. */
async function answerTo(method: string, bytes: string, maxBytes = SENDING.maxBytes) {
  const port = await serveRaw((socket) => void socket.once("data", () => socket.end(bytes)));
  const request = { ...get(`http://127.0.0.1:${port}/jwks?a=b`), method };
  const { exchange, isPrivate } = await send(request, { ...SENDING, maxBytes });
  expect(isPrivate).toBe(true);
  if (exchange.kind !== "answer") throw new TypeError(`there was no answer: ${exchange.detail}`);
  return exchange;
}

describe("the body of an answer", () => {
  test.each([
    ["as long as may be", "0123456789", "0123456789", false],
    ["one byte longer", "0123456789a", "0123456789", true],
    ["shorter", "0", "0", false],
    ["empty", "", "", false],
  ])("that is %s", async (_what, sent, body, isTruncated) => {
    const answer = await answerTo("GET", `HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\n\r\n${sent}`);
    expect([Buffer.from(answer.body).toString(), answer.isTruncated]).toEqual([body, isTruncated]);
    expect(answer).toMatchObject({
      status: 200,
      headers: [
        ["X-A", "1"],
        ["x-a", "2"],
      ],
      strayBytes: 0,
      tls: undefined,
    });
  });
});

describe("bytes after an answer without a body", () => {
  const interim = (size: number): string => `HTTP/1.1 103 Early Hints\r\nx: ${"a".repeat(size)}\r\n\r\n`;

  test.each([
    ["none", "HEAD", "HTTP/1.1 200 OK\r\n\r\n", 0],
    ["two", "HEAD", "HTTP/1.1 200 OK\r\n\r\n{}", 2],
    ["two, where a header is like a first line", "HEAD", "HTTP/1.1 200 OK\r\nvia: HTTP/1.1 100\r\n\r\n{}", 2],
    ["three, after two interim answers", "HEAD", `${interim(1)}${interim(2)}HTTP/1.1 200 OK\r\n\r\n{1}`, 3],
    ["two, to a GET", "GET", "HTTP/1.1 304 Not Modified\r\n\r\n{}", 2],
    ["none of a body that is right", "GET", "HTTP/1.1 200 OK\r\n\r\n{}", 0],
  ])("are %s", async (_what, method, bytes, count) => {
    expect((await answerTo(method, bytes)).strayBytes).toBe(count);
  });

  test("are not counted if interim answers are longer than what is kept", async () => {
    const bytes = `${interim(12_000).repeat(30)}HTTP/1.1 200 OK\r\n\r\n{}`;
    expect((await answerTo("HEAD", bytes)).strayBytes).toBe(0);
  });
});
