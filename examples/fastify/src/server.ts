import type { AddressInfo } from "node:net";
import Fastify from "fastify";
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
  // Fastify waits for started requests, and Node for good for a connection that says nothing.
  app.addHook("preClose", async () => {
    setTimeout(() => app.server.closeAllConnections(), 5000).unref();
  });
  app.addHook("onClose", () => signer.close());

  await app.listen({ port });
  return { port: (app.server.address() as AddressInfo).port, close: async () => app.close() };
}
