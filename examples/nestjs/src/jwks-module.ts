import { type DynamicModule, Inject, Module } from "@nestjs/common";
import { HttpAdapterHost } from "@nestjs/core";
import type { JwksEndpoint } from "@signpost/core";

const ENDPOINT = Symbol("the JWKS endpoint");

/**
 * Serves the endpoint in front of everything else: before body parsers, guards, interceptors and compression, and without a
 * global prefix or a version in its path. The same module works on Express and on Fastify.
 */
@Module({})
export class JwksModule {
  constructor(@Inject(ENDPOINT) endpoint: JwksEndpoint, @Inject(HttpAdapterHost) { httpAdapter }: HttpAdapterHost) {
    httpAdapter.use(endpoint.middleware);
  }

  static serve(endpoint: JwksEndpoint): DynamicModule {
    return { module: JwksModule, providers: [{ provide: ENDPOINT, useValue: endpoint }] };
  }
}
