import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";

// An origin that counts and keeps every request. A test decides the answers.

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Reply {
  readonly status?: number | undefined;
  /** A list is one line for each value. */
  readonly headers?: Readonly<Record<string, string | string[]>> | undefined;
  readonly body?: string | Uint8Array | undefined;
  /** The answer waits for this. */
  readonly after?: Promise<void> | undefined;
}

/** `destroy` closes the connection without an answer. */
export type Answer = (request: SeenRequest) => Reply | "destroy";

export interface CountingJwksServer extends AsyncDisposable {
  /** `http://127.0.0.1:port/jwks` */
  readonly jwksUri: string;
  readonly origin: string;
  /** In the order of arrival. */
  readonly requests: readonly SeenRequest[];
  /** Connections accepted so far, including those without a request. */
  connections(): number;
  answerWith(answer: Answer): void;
  stop(): Promise<void>;
}

/** Listens on a free loopback port. */
export async function startCountingJwksServer(answer: Answer): Promise<CountingJwksServer> {
  const requests: SeenRequest[] = [];
  let current = answer;
  let connections = 0;
  const server = createServer((request, response) => {
    const seen = { method: request.method ?? "", path: request.url ?? "", headers: request.headers };
    requests.push(seen);
    void respond(current(seen), request, response);
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(0, "127.0.0.1", listening);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const origin = `http://127.0.0.1:${address.port}`;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise<void>((closed) => server.close(() => closed()));
  };
  return {
    origin,
    jwksUri: `${origin}/jwks`,
    requests,
    connections: () => connections,
    answerWith: (next) => {
      current = next;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function respond(reply: Reply | "destroy", request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (reply === "destroy") {
    request.socket.destroy();
    return;
  }
  await reply.after;
  response.writeHead(reply.status ?? 200, { ...reply.headers });
  response.end(request.method === "HEAD" ? undefined : reply.body);
}
