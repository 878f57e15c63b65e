import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { AzureReply } from "./fake-azure-key-vault-answers.ts";

export interface AzureRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** `HOST` or `HOST:PORT`. */
  readonly host: string;
  readonly token: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A call of the API that the fake knows. */
export type Operation = "getKey" | "sign" | "list";

const GET_KEY = /^\/keys\/[0-9A-Za-z-]{1,127}(?:\/[0-9a-f]{32})?$/;
const LIST = /^\/keys\/[0-9A-Za-z-]{1,127}\/versions$/;
const SIGN = /^\/keys\/[0-9A-Za-z-]{1,127}\/[0-9a-f]{32}\/sign$/;

export function operationOf({ method, path }: AzureRequest): Operation | undefined {
  if (method === "POST") return SIGN.test(path) ? "sign" : undefined;
  if (method !== "GET") return undefined;
  if (LIST.test(path)) return "list";
  return GET_KEY.test(path) ? "getKey" : undefined;
}

/** The 32 bytes of the body, which must contain nothing else. */
export function readDigest({ headers, body }: AzureRequest): Uint8Array | undefined {
  if (headers["content-type"] !== "application/json") return undefined;
  const { alg, value, ...others } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  if (alg !== "ES256" || typeof value !== "string" || Object.keys(others).length > 0) return undefined;
  const digest = Buffer.from(value, "base64url");
  return digest.length === 32 && digest.toString("base64url") === value ? digest : undefined;
}

export async function readRequest(incoming: IncomingMessage): Promise<AzureRequest> {
  let body = "";
  for await (const chunk of incoming.setEncoding("utf8")) body += String(chunk);
  const { headers, method = "" } = incoming;
  const { pathname, searchParams } = new URL(incoming.url ?? "", "https://fake");
  const token = /^Bearer ([\x21-\x7e]+)$/.exec(headers.authorization ?? "")?.[1];
  return { method, path: pathname, query: searchParams, host: headers.host ?? "", token, headers, body };
}

export async function send(reply: AzureReply, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  if (reply.ending === "hang") return;
  if (reply.ending === "reset") return void incoming.socket.resetAndDestroy();
  response.writeHead(reply.status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(reply.body),
    "x-ms-request-id": "5f1c8ff4-8c1c-4e6e-9f6f-0c3f6a2f9d11",
    ...reply.headers,
  });
  if (reply.ending === "hang-after-headers") return response.flushHeaders();
  if (reply.ending !== "drip") return void response.end(reply.body);
  for (const character of reply.body) {
    if (response.destroyed) return;
    response.write(character);
    await delay(20);
  }
  response.end();
}
