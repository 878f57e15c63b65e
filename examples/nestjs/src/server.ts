import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import "reflect-metadata";
import { type INestApplication, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { createJwksEndpoint, type OwnKeys } from "@signpost/core";
import { discoveryController } from "./discovery-controller.ts";
import { JwksModule } from "./jwks-module.ts";

export interface Settings {
  readonly issuer: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** A rotation schedule, or a key set. */
  readonly keys: OwnKeys;
  readonly platform: "express" | "fastify";
  /** What an application sets up before it listens, such as a global prefix. Default nothing. */
  readonly setUp?: (app: INestApplication<Server>) => void;
}

export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function start({ issuer, port, keys, platform, setUp }: Settings): Promise<RunningServer> {
  const endpoint = createJwksEndpoint({ issuer, keys });

  @Module({ imports: [JwksModule.serve(endpoint)], controllers: [discoveryController(issuer, endpoint.metadata)] })
  class AppModule {}

  const adapter = platform === "fastify" ? new FastifyAdapter() : new ExpressAdapter();
  if (adapter instanceof ExpressAdapter) adapter.disable("x-powered-by");
  const app: INestApplication<Server> = await NestFactory.create(AppModule, adapter, { logger: ["error", "warn"] });
  setUp?.(app);
  await app.listen(port);
  const server = app.getHttpServer();
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      // A busy connection would stay open for as long as its client sends requests.
      server.prependListener("request", (_request, response) => void response.setHeader("Connection", "close"));
      server.closeIdleConnections();
      // Node does not count a connection without a request as idle, and would wait for it forever.
      setTimeout(() => server.closeAllConnections(), 5000).unref();
      await app.close();
    },
  };
}
