import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { FakeEntra } from "./fake-azure-key-vault-tokens.ts";

/** The endpoint for tokens of a managed identity in Container Apps, App Service and Functions. */
export interface FakeManagedIdentity {
  /** The variables that the platform sets. */
  readonly env: { readonly IDENTITY_ENDPOINT: string; readonly IDENTITY_HEADER: string };
  /** The resources that tokens were asked for. */
  readonly resources: readonly string[];
  stop(): Promise<void>;
}

/** Gives the tokens of a fake vault's identity provider, by the protocol of version 2019-08-01. */
export async function startFakeManagedIdentity(entra: FakeEntra): Promise<FakeManagedIdentity> {
  const secret = randomUUID();
  const resources: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const resource = searchParams.get("resource");
    const isRight = pathname === "/msi/token" && searchParams.get("api-version") === "2019-08-01";
    if (!isRight || resource === null || request.headers["x-identity-header"] !== secret) {
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_request"}');
      return;
    }
    resources.push(resource);
    const { token } = entra.issue(`${resource}/.default`);
    const expires = Math.floor(Date.now() / 1000) + entra.lifeSeconds;
    const answer = { access_token: token, expires_on: String(expires), resource, token_type: "Bearer" };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    env: { IDENTITY_ENDPOINT: `http://127.0.0.1:${port}/msi/token`, IDENTITY_HEADER: secret },
    resources,
    stop: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
