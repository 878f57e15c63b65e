import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import * as client from "openid-client";
import { clientAuthentication, createJwksEndpoint, type KeySet, signRequestObject } from "@signpost/core";

export interface RpSettings {
  /** The issuer of the OP. */
  readonly op: string;
  readonly clientId: string;
  /** The address of this relying party, below which it has `/login`, `/callback` and `/jwks`. */
  readonly url: string;
  readonly port: number;
  readonly keys: KeySet;
}

export interface RunningRp {
  close(): Promise<void>;
}

/** Logs users in at an OP. The same keys sign the request and authenticate this client, and are published at `/jwks`. */
export async function startRp({ op, clientId, url, port, keys }: RpSettings): Promise<RunningRp> {
  const endpoint = createJwksEndpoint({ issuer: url, keys });
  const config = await client.discovery(
    new URL(op),
    clientId,
    { id_token_signed_response_alg: "ES256" },
    clientAuthentication(keys),
    // Only for development, with an OP on this machine.
    op.startsWith("http://") ? { execute: [client.allowInsecureRequests] } : {},
  );
  const redirectUri = `${url}/callback`;
  /** The logins that have started, by their state. Use the session of your framework here. */
  const logins = new Map<string, string>();

  async function logIn(response: ServerResponse): Promise<void> {
    const [state, verifier] = [client.randomState(), client.randomPKCECodeVerifier()];
    logins.set(state, verifier);
    const parameters = {
      response_type: "code",
      redirect_uri: redirectUri,
      scope: "openid",
      state,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    };
    const request = await signRequestObject(keys, parameters, { clientId, issuer: config.serverMetadata().issuer });
    const location = await client.buildAuthorizationUrlWithPAR(config, { request });
    response.writeHead(303, { Location: location.href }).end();
  }

  async function finish(target: string, response: ServerResponse): Promise<void> {
    const callback = new URL(target, url);
    const state = callback.searchParams.get("state") ?? "";
    const verifier = logins.get(state);
    logins.delete(state);
    if (verifier === undefined) return void response.writeHead(400).end("this login has not started here\n");
    const checks = { pkceCodeVerifier: verifier, expectedState: state, idTokenExpected: true };
    const tokens = await client.authorizationCodeGrant(config, callback, checks);
    response.setHeader("Content-Type", "application/json").end(JSON.stringify({ sub: tokens.claims()?.sub }));
  }

  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const target = request.url ?? "";
    if (endpoint.matches(target)) endpoint.listener(request, response);
    else if (target === "/login") await logIn(response);
    else if (target.startsWith("/callback?")) await finish(target, response);
    else response.writeHead(404).end();
  };
  const server = createServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      console.error(error);
      response.writeHead(502).end("the login failed\n");
    });
  }).listen(port);
  await once(server, "listening");
  console.log(`listening on ${(server.address() as AddressInfo).port}`);
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
