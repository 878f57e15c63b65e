import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { JwksEndpoint } from "@signpost/core";
import express from "express";
import fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { exchange } from "./raw-http.ts";
import type { RawRequest, RawResponse } from "./raw-http.ts";

/** One way to serve an endpoint. */
export interface Serving {
  readonly name: string;
  /** Lower-case names that the server itself may add. */
  readonly added: readonly string[];
  /** Whether the method can be sent this way at all. */
  readonly carries: (method: string) => boolean;
  /** Sends the requests in order, over one connection where there is one. */
  readonly ask: (endpoint: JwksEndpoint, requests: readonly RawRequest[]) => Promise<RawResponse[]>;
}

const SERVER_HEADERS = ["date", "connection", "keep-alive"];

/** Node's parser refuses unknown and lower-case methods itself. */
const isWireMethod = (method: string): boolean =>
  ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"].includes(method);

const respond: Serving = {
  name: "respond",
  added: [],
  carries: () => true,
  ask: async (endpoint, requests) =>
    requests.map((request) => {
      const asked = {
        origin: joined(request, "origin"),
        requestMethod: joined(request, "access-control-request-method"),
        requestHeaders: joined(request, "access-control-request-headers"),
      };
      const { status, headers, body } = endpoint.respond(request.method, joined(request, "if-none-match"), asked);
      return { status, headers: Object.entries(headers), body: Buffer.from(body ?? []) };
    }),
};

const fetchStyle: Serving = {
  name: "fetch",
  added: [],
  // `Request` refuses TRACE, CONNECT and the empty method, and writes the usual methods in upper case.
  carries: (method) => /^[A-Z]+$/.test(method) && method !== "TRACE" && method !== "CONNECT",
  ask: (endpoint, requests) => askInFetchStyle(endpoint.fetch, requests),
};

const inHono: Serving = {
  ...fetchStyle,
  name: "fetch in Hono",
  ask: (endpoint, requests) => {
    const app = new Hono();
    app.all(endpoint.pathname, (context) => endpoint.fetch(context.req.raw));
    return askInFetchStyle(app.fetch, requests);
  },
};

const nodeHttp: Serving = {
  name: "listener in node:http",
  added: SERVER_HEADERS,
  carries: isWireMethod,
  ask: (endpoint, requests) => overSocket(createServer(endpoint.listener), requests),
};

const inExpress: Serving = {
  name: "listener in Express",
  added: [...SERVER_HEADERS, "x-powered-by"],
  carries: isWireMethod,
  ask: (endpoint, requests) => {
    const app = express();
    app.all(endpoint.pathname, endpoint.listener);
    return overSocket(createServer(app), requests);
  },
};

const asMiddleware: Serving = {
  ...inExpress,
  name: "middleware in Express",
  ask: (endpoint, requests) => {
    // What comes behind it must not matter.
    const app = express()
      .use(endpoint.middleware)
      .use(express.json({ type: "*/*" }));
    return overSocket(createServer(app), requests);
  },
};

const inKoa: Serving = {
  name: "listener in Koa",
  added: SERVER_HEADERS,
  carries: isWireMethod,
  ask: (endpoint, requests) => {
    const app = new Koa();
    app.use((context, next) => {
      if (!endpoint.matches(context.originalUrl)) return next();
      context.respond = false;
      return endpoint.listener(context.req, context.res);
    });
    const listener = app.callback();
    return overSocket(
      createServer((req, res) => void listener(req, res)),
      requests,
    );
  },
};

const inFastify: Serving = {
  name: "listener in Fastify",
  added: SERVER_HEADERS,
  carries: isWireMethod,
  ask: async (endpoint, requests) => {
    const app = fastify();
    const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      reply.hijack();
      endpoint.listener(request.raw, reply.raw);
    };
    // In `onRequest`, before Fastify parses the body and refuses one for its media type.
    app.all(endpoint.pathname, { onRequest: serve }, serve);
    await app.ready();
    try {
      return await overSocket(app.server, requests);
    } finally {
      await app.close();
    }
  },
};

export const SERVINGS: readonly Serving[] = [
  respond,
  fetchStyle,
  inHono,
  nodeHttp,
  inExpress,
  asMiddleware,
  inKoa,
  inFastify,
];

function askInFetchStyle(
  fetch: (request: Request) => Response | Promise<Response>,
  requests: readonly RawRequest[],
): Promise<RawResponse[]> {
  return Promise.all(
    requests.map(async ({ method, target = "/jwks", headers = [], body }) => {
      const init = { method, headers: headers.map(([name, value]): [string, string] => [name, value]) };
      const allowsBody = method !== "GET" && method !== "HEAD" && body !== undefined;
      const request = new Request(`https://op.example${target}`, allowsBody ? { ...init, body } : init);
      const response = await fetch(request);
      const bytes = Buffer.from(await response.arrayBuffer());
      return { status: response.status, headers: [...response.headers], body: bytes };
    }),
  );
}

export async function overSocket(server: Server, requests: readonly RawRequest[]): Promise<RawResponse[]> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await exchange((server.address() as AddressInfo).port, requests);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** As Node and `Headers` join it. */
function joined({ headers = [] }: RawRequest, name: string): string | undefined {
  const values = headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(", ");
}
