// A worker with one server on a free loopback port: our endpoint, a bare node:http server that always sends the bytes that
// our endpoint sends to one request, or the set behind another library.
import type { JsonWebKey } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { getRequestListener } from "@hono/node-server";
import { createJwksEndpoint } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import express from "express";
import { Hono } from "hono";
import { Provider } from "oidc-provider";

export interface ServerOptions {
  readonly kind: "signpost" | "bare" | "express" | "hono" | "oidc-provider";
  /** The first one signs. */
  readonly privateKeys: readonly JsonWebKey[];
  /** The bare server's answer. */
  readonly method: string;
  readonly ifNoneMatch?: string | undefined;
  /** An empty folder, for static files. */
  readonly folder: string;
}

const { kind, privateKeys, method, ifNoneMatch, folder } = workerData as ServerOptions;
const signers = await Promise.all(privateKeys.map((privateKey) => openLocalSigner({ privateKey })));
const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: signers.map((signer) => ({ signer })) });

const LISTENERS: Readonly<Record<ServerOptions["kind"], () => RequestListener | Promise<RequestListener>>> = {
  signpost: () => endpoint.listener,
  bare: alwaysTheSame,
  express: async () => {
    await writeFile(join(folder, "jwks"), endpoint.respond("GET").body ?? "");
    return express().use(express.static(folder, { maxAge: "1h" }));
  },
  hono: () => {
    const serve = getRequestListener(new Hono().get("/jwks", ({ req }) => endpoint.fetch(req.raw)).fetch);
    return (request, response) => void serve(request, response);
  },
  "oidc-provider": () => {
    const keys = privateKeys.map((key, index) => ({ ...key, kid: `sig-${index}`, alg: "ES256", use: "sig" }));
    const serve = new Provider("http://127.0.0.1", { jwks: { keys } }).callback();
    return (request, response) => void serve(request, response);
  },
};

const server = createServer(await LISTENERS[kind]());
// Connections stay open as long as the benchmark uses them, including those that have not sent anything yet.
server.keepAliveTimeout = 0;
server.headersTimeout = 0;
server.requestTimeout = 0;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  parentPort?.postMessage(typeof address === "object" ? address?.port : undefined);
});

function alwaysTheSame(): RequestListener {
  const { status, headers, body } = endpoint.respond(method, ifNoneMatch);
  return (_request, response) => {
    response.writeHead(status, headers);
    if (body === null) response.end();
    else response.end(body);
  };
}
