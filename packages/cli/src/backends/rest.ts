import { Agent as PlainAgent, request as requestPlain, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent as TlsAgent, request as requestTls } from "node:https";
import { resolve } from "node:path";
import { readRegularFile } from "@signpost/core/adapter";

/** Files for TLS, and the name that the certificate must have. */
export interface RestTls {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly serverName?: string | undefined;
}

export interface RestRequest {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface RestAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
}

/** Requests to one server over connections that stay open. Follows no redirect. */
export interface RestServer {
  send(request: RestRequest): Promise<RestAnswer>;
  close(): void;
}

/** Longer answers are not read. */
const MAX_BYTES = 2_097_152;

/** Reads the files for TLS, and sends nothing yet. Files are relative to `cwd`. */
export async function openRest(origin: string, tls: RestTls, cwd: string): Promise<RestServer> {
  const { protocol, hostname, port } = new URL(origin);
  const isTls = protocol === "https:";
  const agent = isTls
    ? new TlsAgent({ keepAlive: true, ...(await tlsOptions(tls, cwd)) })
    : new PlainAgent({ keepAlive: true });
  // Without a port, it is that of the protocol.
  const place = { protocol, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port, agent };
  const start = isTls ? requestTls : requestPlain;
  return {
    send: ({ method, path, headers, body, signal }) => {
      const content = body === undefined ? undefined : JSON.stringify(body);
      const sent =
        content === undefined
          ? headers
          : { ...headers, "content-type": "application/json", "content-length": String(Buffer.byteLength(content)) };
      const options = { ...place, method, path, headers: sent, ...(signal === undefined ? {} : { signal }) };
      return exchange(start, options, content);
    },
    close: () => agent.destroy(),
  };
}

const MAX_FILE_BYTES = 1_048_576;

async function tlsOptions({ caFile, certFile, keyFile, serverName }: RestTls, cwd: string): Promise<object> {
  const read = async (name: string, path: string | undefined): Promise<object> =>
    path === undefined ? {} : { [name]: Buffer.from(await readRegularFile("tls", resolve(cwd, path), MAX_FILE_BYTES)) };
  const files = await Promise.all([read("ca", caFile), read("cert", certFile), read("key", keyFile)]);
  return Object.assign(serverName === undefined ? {} : { servername: serverName }, ...files) as object;
}

function exchange(
  start: typeof requestPlain,
  options: RequestOptions,
  content: string | undefined,
): Promise<RestAnswer> {
  return new Promise((settle, reject) => {
    const outgoing = start(options, (incoming) => {
      readBody(incoming).then(
        (text) => settle({ status: incoming.statusCode ?? 0, headers: incoming.headers, json: parse(text) }),
        reject,
      );
    });
    outgoing.on("error", reject);
    outgoing.end(content);
  });
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_BYTES) throw Object.assign(new Error("the answer is too long"), { code: "too_long" });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
