// A worker with one server on a free loopback port: our endpoint, or a bare node:http server that always sends the
// bytes which our endpoint sends to one request.
import type { JsonWebKey } from "node:crypto";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { parentPort, workerData } from "node:worker_threads";
import { createJwksEndpoint } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";

export interface ServerOptions {
  readonly kind: "signpost" | "bare";
  /** The first one signs. */
  readonly privateKeys: readonly JsonWebKey[];
  /** What the bare server answers. */
  readonly method: string;
  readonly ifNoneMatch?: string | undefined;
}

const { kind, privateKeys, method, ifNoneMatch } = workerData as ServerOptions;
const signers = await Promise.all(privateKeys.map((privateKey) => openLocalSigner({ privateKey })));
const endpoint = createJwksEndpoint({ issuer: "https://op.example", keyset: signers.map((signer) => ({ signer })) });

const server = createServer(kind === "signpost" ? endpoint.listener : alwaysTheSame());
// Connections are kept for as long as the benchmark wants to use them.
server.keepAliveTimeout = 0;
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
