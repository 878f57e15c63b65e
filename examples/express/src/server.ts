import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createJwksEndpoint, createKeySet, openSigner } from "@signpost/core";
import { local } from "@signpost/local";

export interface Settings {
  readonly issuer: string;
  /** 0 chooses a free port. */
  readonly port: number;
}

export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function start({ issuer, port }: Settings): Promise<RunningServer> {
  const signer = await openSigner("local:", [local()]);
  const endpoint = createJwksEndpoint({ issuer, keys: createKeySet([{ signer }]) });
  // OpenID Connect Discovery 1.0 section 4: below the issuer's own path.
  const discoveryPath = `${new URL(issuer).pathname.replace(/\/$/, "")}/.well-known/openid-configuration`;

  // Without the two settings Express also answers `/jwks/` and `/JWKS`.
  const app = express().enable("strict routing").enable("case sensitive routing").disable("x-powered-by");
  // `all`, so that other methods get the endpoint's 405. Express's own ETag, 304 and charset live in `response.send`,
  // which the listener does not use.
  app.all(endpoint.pathname, endpoint.listener);
  app.get(discoveryPath, (_request, response) => {
    response.json({ issuer, ...endpoint.metadata });
  });

  const server = app.listen(port);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      // A busy connection would stay open for as long as its client sends requests.
      server.prependListener("request", (_request, response) => void response.setHeader("Connection", "close"));
      server.close();
      server.closeIdleConnections();
      // One that says nothing is no idle one either, and Node would wait for it for good.
      setTimeout(() => server.closeAllConnections(), 5000).unref();
      await closed;
      await signer.close();
    },
  };
}
