import type { AddressInfo } from "node:net";
import Fastify from "fastify";
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

  const app = Fastify();
  app.all(
    endpoint.pathname,
    {
      // This runs before Fastify reads a body, so a POST of any type gets the endpoint's 405 and not a 415.
      onRequest: async (request, reply) => {
        reply.hijack();
        endpoint.listener(request.raw, reply.raw);
      },
    },
    () => {
      throw new Error("answered in onRequest");
    },
  );
  app.get(discoveryPath, () => ({ issuer, ...endpoint.metadata }));
  await app.listen({ port });
  return {
    port: (app.server.address() as AddressInfo).port,
    close: async () => {
      // Fastify waits for started requests, and Node for good for a connection that says nothing.
      setTimeout(() => app.server.closeAllConnections(), 5000).unref();
      await app.close();
    },
  };
}
