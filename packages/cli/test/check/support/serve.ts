import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import { createJwksEndpoint, createKeySet } from "@signpost/core";
import type { OwnKeys, Signer } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import type { LocalSignerOptions } from "@signpost/local";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import type { CountingJwksServer, Reply as Sent, SeenRequest } from "@signpost/test-backends/counting-jwks-server";
import type { SelfSigned } from "@signpost/test-backends/self-signed";
import { onTestFinished } from "vitest";
import { ISSUER, op } from "./op.ts";
import type { Op } from "./op.ts";

/** Serves an OP over HTTP on loopback, where it is its own issuer. */
export async function serve(
  make: (metadata: Readonly<Record<string, string>>) => Op = (metadata) => op({ metadata }),
): Promise<CountingJwksServer> {
  const server = await startCountingJwksServer(() => "destroy");
  onTestFinished(() => server.stop());
  const answer = make({ issuer: server.origin, jwks_uri: server.jwksUri });
  server.answerWith((seen) => replyOf(answer, seen));
  return server;
}

function replyOf(server: Op, { method, path, headers }: SeenRequest): Sent | "destroy" {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const reply = server({ method, url: ISSUER + path, headers: sent });
  if (!("status" in reply)) return "destroy";
  const named = Object.entries(reply.headers).flatMap(([name, value]) =>
    // Node sends its own date.
    value === undefined || name === "date" ? [] : [[name, typeof value === "string" ? value : [...value]] as const],
  );
  return { status: reply.status, headers: Object.fromEntries(named), body: reply.body };
}

/** Serves Signpost's own endpoint and its discovery document. */
export async function serveSignpost(keys?: OwnKeys): Promise<CountingJwksServer> {
  const server = await startCountingJwksServer(() => "destroy");
  onTestFinished(() => server.stop());
  const endpoint = createJwksEndpoint({
    issuer: server.origin,
    keys: keys ?? createKeySet([{ signer: await signer() }]),
  });
  const discovery = JSON.stringify({ issuer: server.origin, ...endpoint.metadata });
  server.answerWith(({ method, path, headers }) => {
    if (path === "/.well-known/openid-configuration")
      return { headers: { "content-type": "application/json" }, body: discovery };
    if (!endpoint.matches(path)) return { status: 404 };
    const { status, headers: sent, body } = endpoint.respond(method, headers["if-none-match"]);
    return { status, headers: sent, body: body ?? undefined };
  });
  return server;
}

/** A software key until the test ends. */
export async function signer(privateKey?: LocalSignerOptions["privateKey"]): Promise<Signer> {
  const opened = await openLocalSigner({ privateKey });
  onTestFinished(() => opened.close());
  return opened;
}

/** Serves the set of `op()` over TLS. Returns the port. */
export async function serveTls(certificate: SelfSigned, settings: TlsOptions = {}): Promise<number> {
  const answer = op();
  const server = createTlsServer({ ...certificate, ...settings }, (request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const reply = replyOf(answer, { method, path: url, headers });
    if (reply === "destroy") return;
    response.writeHead(reply.status ?? 200, { ...reply.headers }).end(method === "HEAD" ? undefined : reply.body);
  });
  server.on("tlsClientError", () => undefined);
  return listening(server, () => server.closeAllConnections());
}

/** Accepts connections and does what a test wants with them. Returns the port. */
export async function serveRaw(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onConnection(socket);
  });
  return listening(server, () => sockets.forEach((socket) => socket.destroy()));
}

async function listening(server: Server, disconnect: () => void): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    disconnect();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
