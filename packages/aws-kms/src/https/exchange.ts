import { request as requestHttp, type Agent, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import { memberOf } from "@signpost/core/adapter";

/** The service that requests go to. */
export interface Target {
  readonly plaintext: boolean;
  /** An IPv6 address is without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
  readonly agent: Agent;
  /** The longest time for one exchange. Milliseconds. Half of it for making a connection. */
  readonly timeoutMs: number;
}

/** A POST request. */
export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal | undefined;
}

/** An HTTP answer with any status. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Answers of KMS have less than 1 KiB. */
const MAX_BODY_BYTES = 65_536;

/**
 * Sends one request and reads its whole answer. It follows no redirect. Rejects with an error whose `code` is that of a
 * system error, or with the reason of the signal. The connection of an exchange that was ended is closed.
 */
export function exchange(target: Target, { headers, body, signal }: Post): Promise<Reply> {
  const { plaintext, hostname, port, path, agent, timeoutMs } = target;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) throw signal.reason;
    const send = plaintext ? requestHttp : requestHttps;
    const request = send({ method: "POST", hostname, port, path, agent, headers });
    const end = (): void => {
      clearTimeout(timer);
      clearTimeout(connecting);
      signal?.removeEventListener("abort", abort);
    };
    const fail = (error: unknown): void => {
      end();
      reject(error);
      request.destroy();
    };
    const abort = (): void => fail(signal?.reason);
    const timer = setTimeout(() => fail(timedOut(`no answer within ${timeoutMs} ms`)), timeoutMs);
    let connecting: NodeJS.Timeout | undefined;
    signal?.addEventListener("abort", abort, { once: true });
    request.on("socket", (socket: Socket) => {
      if (!socket.connecting) return;
      // Leaves time for another attempt.
      const patienceMs = Math.ceil(timeoutMs / 2);
      connecting = setTimeout(() => fail(timedOut(`no connection within ${patienceMs} ms`)), patienceMs);
      socket.once(plaintext ? "connect" : "secureConnect", () => clearTimeout(connecting));
    });
    request.on("error", (error: unknown) => fail(withCode(error)));
    request.on("response", (response) => {
      readBody(response, fail, (read) => {
        end();
        resolve(new ReadReply(response, read));
      });
    });
    // Without this listener, Node closes the connection and says nothing.
    request.on("upgrade", (response, socket) => {
      end();
      socket.destroy();
      resolve(new ReadReply(response, Buffer.alloc(0)));
    });
    request.end(body);
  });
}

/**
 * An answer that was read. Node makes the headers when they are read, and only errors need them. A class, because defining a
 * getter on each object takes longer than a timer.
 */
class ReadReply implements Reply {
  readonly status: number;
  readonly body: Buffer;
  readonly #response: IncomingMessage;

  constructor(response: IncomingMessage, body: Buffer) {
    this.status = response.statusCode ?? 0;
    this.body = body;
    this.#response = response;
  }

  get headers(): IncomingHttpHeaders {
    return this.#response.headers;
  }
}

function readBody(response: IncomingMessage, fail: (error: unknown) => void, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    else fail(systemError("HPE_TOO_LONG", `an answer of more than ${MAX_BODY_BYTES} bytes`));
  });
  response.on("end", () => done(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
  // Also when the connection is cut before the end.
  response.on("error", fail);
}

/** Node's errors have a code. Any other comes from the caller's agent, for example about the answer of its proxy. */
function withCode(error: unknown): unknown {
  if (typeof memberOf(error, "code") === "string") return error;
  const message = memberOf(error, "message") ?? error;
  return Object.assign(new Error(`no connection: ${String(message)}`, { cause: error }), { code: "ENOTCONN" });
}

function timedOut(message: string): Error {
  return systemError("ETIMEDOUT", message);
}

function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
