import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import type { Place } from "../settings.ts";
import { createConnections } from "./connections.ts";

/** Why a request got no answer of a route. */
export type Refusal = "malformed" | "too_large" | "timeout" | "pipelined";

export interface ListenerOptions {
  readonly place: Place;
  readonly maxConnections: number;
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  readonly onRefused: (reason: Refusal) => void;
  /** A connection had to make room for another. */
  readonly onEvicted: () => void;
  /** A route threw, which is a mistake in it. */
  readonly onFailed: (error: unknown) => void;
}

/** An HTTP server that is open. */
export interface Listener {
  /** `http://127.0.0.1:8080` */
  readonly origin: string;
  connections(): number;
  /** From now on, each response is the last one of its connection. */
  lastResponses(): void;
  /** Accepts nothing new, and finishes what has begun, within this time. */
  close(withinMs: number): Promise<void>;
}

/** Real requests have a few hundred bytes. */
const MAX_HEADER_BYTES = 8192;
const HEADERS_MS = 5000;
const REQUEST_MS = 10_000;
/** A client that does not read what it asked for. */
const STALLED_MS = 15_000;
/** Longer than load balancers keep a connection (60 s), so that they do not send into one that closes. */
const KEEP_ALIVE_MS = 65_000;
const CHECK_MS = 1000;
/** A new connection sends its request within this time, or it is one that is kept for later, as browsers do. */
const SILENT_MS = 1000;
/** Nothing reads the body of a request. More than this ends its connection. */
const MAX_BODY_BYTES = 65_536;
const BACKLOG = 4096;

/** Opens a port. Clients cannot make it wait, keep much of it, or stop it for others. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { place, maxConnections, answer, onRefused, onEvicted, onFailed } = options;
  const connections = createConnections(maxConnections, onEvicted, () => onRefused("pipelined"));
  let closing = false;
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (!connections.begin(request, response)) return;
    if (closing) response.setHeader("Connection", "close");
    try {
      answer(request, response);
    } catch (error) {
      onFailed(error);
      if (!response.headersSent) response.writeHead(500, { "Cache-Control": "no-store", "Content-Length": "0" });
      response.end();
    }
    dropBody(request);
  };
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_MS,
    },
    onRequest,
  );
  // By itself, Node answers such a request without this limit on requests at a time. It may mean nothing (RFC 9110 section 10.1.1).
  server.on("checkExpectation", onRequest);
  server.timeout = STALLED_MS;
  server.on("connection", (socket) => connections.add(socket));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const refusal = refusalOf(error);
    // The client went away, or was sent away.
    if (refusal === undefined || !socket.writable) return void socket.destroy();
    onRefused(refusal.reason);
    const response = `HTTP/1.1 ${refusal.status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
    connections.endWith(socket as Socket, response);
  });
  await open(server, place);
  // Not every runtime emits this again when a server that is closed is closed.
  const closed = new Promise<void>((resolve) => server.once("close", () => resolve()));
  return {
    origin: originOf(server.address() as AddressInfo),
    connections: () => connections.count(),
    lastResponses: () => {
      closing = true;
    },
    close: async (withinMs) => {
      closing = true;
      server.close();
      server.closeIdleConnections();
      const timers = [
        setTimeout(() => connections.endSilent(), SILENT_MS),
        setTimeout(() => server.closeAllConnections(), withinMs),
      ];
      await closed;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** The body of a GET means nothing (RFC 9110 section 9.3.1). It is read so that the client reads the response. */
function dropBody(request: IncomingMessage): void {
  let length = 0;
  request.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) request.socket.destroySoon();
  });
}

const TOO_LARGE = new Set(["HPE_HEADER_OVERFLOW", "HPE_CHUNK_EXTENSIONS_OVERFLOW"]);

function refusalOf({ code = "" }: NodeJS.ErrnoException): { status: string; reason: Refusal } | undefined {
  if (TOO_LARGE.has(code)) return { status: "431 Request Header Fields Too Large", reason: "too_large" };
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return { status: "408 Request Timeout", reason: "timeout" };
  return code.startsWith("HPE_") ? { status: "400 Bad Request", reason: "malformed" } : undefined;
}

async function open(server: Server, { host, port, flags }: Place): Promise<void> {
  server.listen({ host, port, backlog: BACKLOG });
  await once(server, "listening").catch((cause: NodeJS.ErrnoException) => {
    const code = cause.code ?? "";
    if (code === "EADDRINUSE") {
      throw new CliError(EXIT.usage, "port_in_use", `${flags.port}: another program uses port ${port}`, {
        cause,
        hint: `Stop that program, or choose another port with ${flags.port}. ${flags.port} 0 takes a free one`,
      });
    }
    if (code === "EACCES") {
      throw new CliError(EXIT.usage, "port_denied", `${flags.port}: this user may not listen on port ${port}`, {
        cause,
        hint: "Choose a port above 1023",
      });
    }
    const problem = `cannot listen on ${JSON.stringify(host)} (${code})`;
    throw new CliError(EXIT.usage, "host_unusable", `${flags.host}: ${problem}`, {
      cause,
      hint: "Name an address of this machine: 127.0.0.1, ::1, 0.0.0.0 or ::",
    });
  });
}

/** The address in the way that a browser takes it. What listens on all addresses is reached on this machine. */
function originOf({ address, port }: AddressInfo): string {
  const reached = address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}
