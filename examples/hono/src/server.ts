import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createJwksEndpoint, type OwnKeys } from "@signpost/core";

export interface Settings {
  readonly issuer: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** A rotation schedule, or a key set. */
  readonly keys: OwnKeys;
}

export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function start({ issuer, port, keys }: Settings): Promise<RunningServer> {
  const endpoint = createJwksEndpoint({ issuer, keys });
  // OpenID Connect Discovery 1.0 section 4: below the issuer's own path.
  const discoveryPath = `${new URL(issuer).pathname.replace(/\/$/, "")}/.well-known/openid-configuration`;

  const app = new Hono();
  app.all(endpoint.pathname, (context) => endpoint.fetch(context.req.raw));
  app.get(discoveryPath, (context) => context.json({ issuer, ...endpoint.metadata }));

  const server = serve({ fetch: app.fetch, port });
  if (!server.listening) await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      // A busy connection would stay open for as long as its client sends requests.
      server.prependListener("request", (_request, response) => void response.setHeader("Connection", "close"));
      server.close();
      if ("closeIdleConnections" in server) {
        server.closeIdleConnections();
        // Node does not count a connection without a request as idle, and would wait for it forever.
        setTimeout(() => server.closeAllConnections(), 5000).unref();
      }
      await closed;
    },
  };
}
