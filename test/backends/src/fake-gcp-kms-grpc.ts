import { constants, createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { loadSync, type MethodDefinition, type ServiceDefinition } from "@grpc/proto-loader";
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

// gRPC by hand over HTTP/2 (https://github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md), so that each of its frames can be held
// back, cut or replaced.

const SERVICE = "google.cloud.kms.v1.KeyManagementService";

/** The messages come from the protos that ship inside the client. */
function loadService(): ServiceDefinition {
  const require = createRequire(import.meta.url);
  const includeDirs = ["@google-cloud/kms", "google-gax"].map((name) =>
    resolve(dirname(require.resolve(name)), "../protos"),
  );
  const loaded = loadSync("google/cloud/kms/v1/service.proto", {
    includeDirs,
    longs: String,
    enums: String,
    defaults: true,
  });
  return loaded[SERVICE] as ServiceDefinition;
}

export function createGrpcServer(service: FakeService): Http2Server {
  const methods = loadService();
  const server = createServer();
  // Does what a gRPC server does after too many pings (doc/keepalive.md there): GOAWAY, and the end of the connection.
  server.on("session", (session) => {
    session.on("ping", () => {
      service.pings += 1;
      if (!service.refusePings) return;
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings"));
      setImmediate(() => session.destroy());
    });
  });
  return server.on("stream", (stream, headers) => {
    // A client may go away in the middle of a fault, which is what some faults test.
    stream.on("error", () => undefined);
    const operation = String(headers[":path"]).slice(`/${SERVICE}/`.length) as Operation;
    const method = methods[operation];
    if (method === undefined) {
      sendStatus(stream, new RpcStatus("UNIMPLEMENTED", `The fake has no ${operation}.`));
      return;
    }
    void answer(service, method, operation, stream);
  });
}

async function answer(
  service: FakeService,
  method: MethodDefinition<object, object>,
  operation: Operation,
  stream: ServerHttp2Stream,
): Promise<void> {
  const body = await readAll(stream);
  if (body === undefined) return;
  const request = method.requestDeserialize(body.subarray(5)) as DecodedRequest;
  const outcome = await handle(service, operation, fromDecoded(operation, request));
  if (!stream.destroyed) send(stream, method, outcome);
}

interface DecodedRequest {
  readonly name?: string;
  readonly parent?: string;
  readonly digest?: { readonly sha256?: Buffer; readonly sha384?: Buffer; readonly sha512?: Buffer } | null;
  readonly digestCrc32c?: { readonly value: string } | null;
  readonly data?: Buffer;
  readonly pageSize?: number;
  readonly pageToken?: string;
}

function fromDecoded(operation: Operation, request: DecodedRequest): RpcRequest {
  return {
    name: (operation === "ListCryptoKeyVersions" ? request.parent : request.name) ?? "",
    sha256: request.digest?.sha256,
    other:
      request.digest?.sha384 !== undefined ||
      request.digest?.sha512 !== undefined ||
      (request.data !== undefined && request.data.length > 0),
    digestCrc32c: request.digestCrc32c?.value,
    pageSize: request.pageSize,
    pageToken: request.pageToken === "" ? undefined : request.pageToken,
  };
}

function send(
  stream: ServerHttp2Stream,
  method: MethodDefinition<object, object>,
  { transportFault, answer: result }: Outcome,
): void {
  switch (transportFault) {
    case "hang":
      return;
    case "reset":
      // Not here, where Node is still inside its reader: that corrupts the heap (seen on 20.20.2).
      setImmediate(() => stream.session?.destroy());
      return;
    case "hang-after-headers":
      stream.respond(GRPC_HEADERS);
      return;
    case "html":
      stream.respond({ ":status": 502, "content-type": "text/html" });
      stream.end("<html><body>502 Bad Gateway</body></html>");
      return;
    default:
  }
  if (result instanceof RpcStatus) {
    sendStatus(stream, result);
    return;
  }
  const message = method.responseSerialize(toMessage(result));
  sendMessage(stream, transportFault === "truncated" ? message.subarray(0, message.length / 2) : message);
}

const GRPC_HEADERS = { ":status": 200, "content-type": "application/grpc+proto" } as const;

function sendMessage(stream: ServerHttp2Stream, message: Buffer): void {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.respond(GRPC_HEADERS, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(Buffer.concat([prefix, message]));
}

function sendStatus(stream: ServerHttp2Stream, { status, message }: RpcStatus): void {
  const headers = { "grpc-status": String(STATUS[status][0]), "grpc-message": encodeURI(message) };
  stream.respond({ ...GRPC_HEADERS, ...headers }, { endStream: true });
}

/** Our plain values in the form of the protos: checksums are wrapped, dates are seconds. */
function toMessage(response: RpcResponse): object {
  return Object.fromEntries(
    Object.entries(response)
      .filter(([, value]) => value !== undefined)
      .map(([member, value]) => [member, toField(member, value)]),
  );
}

function toField(member: string, value: unknown): unknown {
  if (member.endsWith("Crc32c") && typeof value === "string") return { value };
  if (value instanceof Date) return { seconds: String(Math.floor(value.getTime() / 1000)), nanos: 0 };
  if (Array.isArray(value)) return value.map((item) => toMessage(item as RpcResponse));
  return value;
}

/** Undefined when the client went away first. */
async function readAll(stream: ServerHttp2Stream): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}
