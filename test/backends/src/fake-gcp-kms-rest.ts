import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  type FakeService,
  handle,
  type Operation,
  type Outcome,
  type RpcRequest,
  type RpcResponse,
  RpcStatus,
  STATUS,
} from "./fake-gcp-kms-service.ts";

// The same service as REST: the paths of the protos' google.api.http options, proto3 JSON, and errors in
// Google's shape (https://google.aip.dev/193).

export function createRestServer(service: FakeService): Server {
  return createServer((request, response) => {
    response.on("error", () => undefined);
    void answer(service, request, response);
  });
}

async function answer(service: FakeService, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readAll(request);
  if (body === undefined) return;
  const call = route(request, body);
  if (call === undefined) {
    sendJson(response, 501, errorBody(new RpcStatus("UNIMPLEMENTED", "The fake has no such method.")));
    return;
  }
  send(response, await handle(service, call.operation, call.request));
}

interface Call {
  readonly operation: Operation;
  readonly request: RpcRequest;
}

function route({ method, url = "" }: IncomingMessage, body: string): Call | undefined {
  const { pathname, searchParams } = new URL(url, "http://fake");
  const path = decodeURIComponent(pathname).replace(/^\/v1\//, "");
  const signs = /^(.+):asymmetricSign$/.exec(path)?.[1];
  if (method === "POST" && signs !== undefined) return { operation: "AsymmetricSign", request: fromJson(signs, body) };
  if (method !== "GET") return undefined;
  const keyOf = /^(.+)\/publicKey$/.exec(path)?.[1];
  if (keyOf !== undefined) return { operation: "GetPublicKey", request: { name: keyOf } };
  const listOf = /^(.+)\/cryptoKeyVersions$/.exec(path)?.[1];
  if (listOf === undefined) return { operation: "GetCryptoKeyVersion", request: { name: path } };
  return {
    operation: "ListCryptoKeyVersions",
    request: {
      name: listOf,
      pageSize: Number(searchParams.get("pageSize") ?? 0),
      pageToken: searchParams.get("pageToken") ?? undefined,
    },
  };
}

interface SignBody {
  readonly digest?: { readonly sha256?: string; readonly sha384?: string; readonly sha512?: string };
  readonly digestCrc32c?: string | number;
  readonly data?: string;
}

function fromJson(name: string, body: string): RpcRequest {
  const { digest, digestCrc32c, data } = JSON.parse(body) as SignBody;
  return {
    name,
    sha256: digest?.sha256 === undefined ? undefined : Buffer.from(digest.sha256, "base64"),
    other: digest?.sha384 !== undefined || digest?.sha512 !== undefined || data !== undefined,
    digestCrc32c: digestCrc32c === undefined ? undefined : String(digestCrc32c),
  };
}

function send(response: ServerResponse, { transportFault, answer: result }: Outcome): void {
  const status = result instanceof RpcStatus ? STATUS[result.status][1] : 200;
  const body = JSON.stringify(result instanceof RpcStatus ? errorBody(result) : toJson(result));
  switch (transportFault) {
    case "hang":
      return;
    case "reset":
      response.socket?.destroy();
      return;
    case "hang-after-headers":
      response.writeHead(200, JSON_HEADERS);
      response.flushHeaders();
      return;
    case "html":
      response.writeHead(502, { "content-type": "text/html" });
      response.end("<html><body>502 Bad Gateway</body></html>");
      return;
    case "truncated":
      sendText(response, status, body.slice(0, body.length / 2));
      return;
    default:
      sendText(response, status, body);
  }
}

const JSON_HEADERS = { "content-type": "application/json; charset=UTF-8" };

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, JSON_HEADERS);
  response.end(text);
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendText(response, status, JSON.stringify(value));
}

function errorBody({ status, message }: RpcStatus): object {
  return { error: { code: STATUS[status][1], message, status } };
}

/** Proto3 JSON with enums as numbers, which is what the client asks for; members of the default value are left out. */
function toJson(response: RpcResponse): object {
  return Object.fromEntries(
    Object.entries(response)
      .filter(([, value]) => value !== undefined && value !== false)
      .map(([member, value]) => [member, toField(member, value)]),
  );
}

const ENUM_NUMBERS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  protectionLevel: { SOFTWARE: 1, HSM: 2 },
  algorithm: { RSA_SIGN_PKCS1_2048_SHA256: 5, EC_SIGN_P256_SHA256: 12, EC_SIGN_P384_SHA384: 13 },
  state: { ENABLED: 1, DISABLED: 2, DESTROYED: 3, DESTROY_SCHEDULED: 4, PENDING_GENERATION: 5 },
};

function toField(member: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => toJson(item as RpcResponse));
  return ENUM_NUMBERS[member]?.[String(value)] ?? value;
}

/** Undefined when the client went away first. */
async function readAll(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks).toString("utf8");
}
