import { createServer, request as requestHttp, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { MarkedText } from "./marked-secrets.ts";

// What stands between a client and its backend may repeat in its answer what it was sent. This one does, at each place of an
// answer, and in each encoding.

/** How a repeated secret is written. */
export const ECHO_FORMS: Readonly<Record<string, (secret: string) => string>> = {
  "as it is": (secret) => secret,
  "its first 12 characters": (secret) => secret.slice(0, 12),
  base64: (secret) => Buffer.from(secret).toString("base64"),
  base64url: (secret) => Buffer.from(secret).toString("base64url"),
  hex: (secret) => Buffer.from(secret).toString("hex"),
  "escaped for a URL": (secret) => encodeURIComponent(secret),
  "escaped for JSON": (secret) => JSON.stringify(secret).slice(1, -1),
};

/** An answer in place of the backend's. */
export interface EchoAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: string;
  /** The reason phrase after the status. */
  readonly reason?: string | undefined;
}

/** What a client sent. */
export interface EchoRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A proxy for one backend. */
export interface EchoProxy extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** Answers in place of the backend. Undefined lets a request through. */
  answer: ((request: EchoRequest) => EchoAnswer | undefined) | undefined;
  /** Changes the answers of the backend. */
  change: ((body: string, request: EchoRequest) => string) | undefined;
  /** The requests so far. */
  readonly requests: readonly EchoRequest[];
  reset(): void;
}

/** Starts a proxy for the backend at an http URL of this machine. */
export async function startEchoProxy(backend: string): Promise<EchoProxy> {
  const requests: EchoRequest[] = [];
  const target = new URL(backend);
  const server = createServer((incoming, response) => {
    const chunks: Uint8Array[] = [];
    incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    incoming.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const request = { method: incoming.method ?? "", path: incoming.url ?? "", headers: incoming.headers, body };
      requests.push(request);
      const answer = proxy.answer?.(request);
      if (answer === undefined) pass(request, response);
      else send(answer, response);
    });
  });
  const pass = (request: EchoRequest, response: ServerResponse): void => {
    const { method, path, headers, body } = request;
    const outgoing = requestHttp({ host: target.hostname, port: target.port, method, path, headers }, (incoming) => {
      const chunks: Uint8Array[] = [];
      incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      incoming.on("error", () => response.destroy());
      incoming.on("end", () => {
        const answered = Buffer.concat(chunks).toString();
        const changed = proxy.change?.(answered, request) ?? answered;
        const { "content-length": _length, "transfer-encoding": _encoding, ...kept } = incoming.headers;
        response.writeHead(incoming.statusCode ?? 502, kept).end(changed);
      });
    });
    outgoing.on("error", () => response.destroy());
    outgoing.end(body);
  };
  server.keepAliveTimeout = 0;
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const proxy: EchoProxy = {
    url: `http://127.0.0.1:${port}`,
    port,
    answer: undefined,
    change: undefined,
    requests,
    reset: () => {
      proxy.answer = undefined;
      proxy.change = undefined;
      requests.length = 0;
    },
    [Symbol.asyncDispose]: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
  return proxy;
}

function send({ status, headers, body, reason }: EchoAnswer, response: ServerResponse): void {
  const all = { "content-type": "application/json", ...headers };
  // Node writes no body, and no length, where a status has none.
  if (reason === undefined) response.writeHead(status, all);
  else response.writeHead(status, reason, all);
  response.end(status === 204 || status === 304 ? undefined : body);
}

/** The secrets, in one text and one form. */
export function echoOf(secrets: readonly MarkedText[], form: string): string {
  const write = ECHO_FORMS[form] ?? String;
  return secrets.map(({ text }) => write(text)).join(" ");
}

/** Those of the secrets that a request contains: nothing between a client and its backend knows another one. */
export function sentIn(
  { headers, body }: Pick<EchoRequest, "headers" | "body">,
  secrets: readonly MarkedText[],
): readonly MarkedText[] {
  const texts = [...Object.values(headers).map(String), body];
  const forms = (text: string): readonly string[] => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
  ];
  return secrets.filter(({ text }) => forms(text).some((form) => texts.some((sent) => sent.includes(form))));
}

/** All that a proxy knows of a request, as it shows it in a page about an error. */
export function dumpOf({ method, path, headers, body }: EchoRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  return [`${method} ${path}`, ...lines, "", body].join("\n");
}

/** The statuses that clients treat differently, and others. */
export const ECHO_STATUSES: readonly number[] = [
  200, 201, 204, 301, 307, 308, 400, 401, 403, 404, 405, 407, 408, 409, 412, 413, 418, 421, 425, 429, 431, 499, 500,
  501, 502, 503, 504,
];

/** How many texts and numbers JSON has, with the names of members. */
export function leavesOf(json: string): number {
  let count = 0;
  visitLeaves(json, (leaf) => {
    count += 1;
    return leaf;
  });
  return count;
}

/** The JSON with another text at one of its leaves. */
export function withLeaf(json: string, index: number, text: string): string {
  let at = 0;
  return visitLeaves(json, (leaf) => (at++ === index ? text : leaf));
}

function visitLeaves(json: string, visit: (leaf: unknown) => unknown): string {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== "object" || value === null) return visit(value);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [String(visit(name)), copy(member)]));
  };
  return JSON.stringify(copy(JSON.parse(json)));
}
