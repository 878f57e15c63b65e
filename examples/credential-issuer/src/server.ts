import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Oauth2ServerErrorResponseError, setGlobalConfig } from "@openid4vc/oauth2";
import {
  createInputSigner,
  createJwksEndpoint,
  type KeySet,
  SignerError,
  SignpostError,
  VerifyError,
} from "@signpost/core";
import { createCallbacks } from "./callbacks.ts";
import { createCredentials } from "./credentials.ts";
import { createMetadata } from "./metadata.ts";
import { createTokens, type WalletRequest } from "./tokens.ts";

export interface IssuerSettings {
  /** The address of this issuer, which is its name too. */
  readonly url: string;
  readonly port: number;
  readonly keys: KeySet;
}

export interface RunningIssuer {
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 65_536;

/** The endpoints of OpenID4VCI 1.0, and the key set for those who verify. */
export async function startIssuer({ url, port, keys }: IssuerSettings): Promise<RunningIssuer> {
  // Only for development on this machine.
  if (url.startsWith("http://")) setGlobalConfig({ allowInsecureUrls: true });
  const own = createInputSigner(keys);
  const callbacks = createCallbacks(own);
  const metadata = createMetadata(url, callbacks);
  const tokens = createTokens(url, metadata, own, callbacks);
  const credentials = createCredentials({ url, metadata, keys, own, callbacks });
  const endpoint = createJwksEndpoint({ issuer: url, keys });

  const routes: Readonly<Record<string, (request: IncomingMessage) => Promise<object> | object>> = {
    "GET /.well-known/openid-credential-issuer": () => metadata.issuer.credentialIssuer,
    "GET /.well-known/oauth-authorization-server": () => metadata.server,
    // Where verifiers find the key of a credential without x5c (SD-JWT VC, JWT VC issuer metadata).
    "GET /.well-known/jwt-vc-issuer": () => ({ issuer: url, jwks_uri: `${url}/jwks` }),
    "GET /offer": () => tokens.offer(),
    "POST /token": async (request) => tokens.token(await read(request, url)),
    "POST /nonce": () => credentials.nonce(),
    "POST /credential": async (request) => credentials.credential(await read(request, url)),
  };
  const server = createServer((request, response) => {
    if (endpoint.matches(request.url)) return endpoint.listener(request, response);
    const route = routes[`${request.method} ${request.url}`];
    if (route === undefined) return void response.writeHead(404).end();
    return void answer(response, async () => route(request));
  }).listen(port);
  await once(server, "listening");
  return {
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      // Node does not count a connection without a request as idle, and would wait for it forever.
      setTimeout(() => server.closeAllConnections(), 5000).unref();
      await closed;
    },
  };
}

async function answer(response: ServerResponse, make: () => Promise<object>): Promise<void> {
  const send = (status: number, body: object): void => {
    response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
    response.end(JSON.stringify(body));
  };
  try {
    send(200, await make());
  } catch (error) {
    if (error instanceof Oauth2ServerErrorResponseError) return send(error.status, error.errorResponse);
    if (error instanceof VerifyError) return send(401, { error: "invalid_token" });
    if (error instanceof SignpostError) {
      console.error(`${error.name} ${error.code}: ${error.message}`);
      const passing = error instanceof SignerError && error.transient;
      return send(passing ? 503 : 500, { error: passing ? "temporarily_unavailable" : "server_error" });
    }
    // What the library throws for a request that it cannot read.
    return send(400, { error: "invalid_request" });
  }
}

async function read(request: IncomingMessage, url: string): Promise<WalletRequest> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error("the body is too large");
    chunks.push(chunk);
  }
  const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  return { method: "POST", url: `${url}${request.url}`, headers, body: Buffer.concat(chunks).toString("utf8") };
}
