import { type DynamicModule, Inject, Module, type NestModule } from "@nestjs/common";
import { HttpAdapterHost } from "@nestjs/core";
import type { JwksEndpoint } from "@signpost/core";

const ENDPOINT = Symbol("the JWKS endpoint");

/**
 * Serves the endpoint in front of everything else: before body parsers, guards, interceptors and compression, and without a
 * global prefix or a version in its path. The same module works on Express and on Fastify.
 */
@Module({})
export class JwksModule implements NestModule {
  readonly #endpoint: JwksEndpoint;
  readonly #host: HttpAdapterHost;

  constructor(@Inject(ENDPOINT) endpoint: JwksEndpoint, @Inject(HttpAdapterHost) host: HttpAdapterHost) {
    this.#endpoint = endpoint;
    this.#host = host;
    this.configure();
  }

  /**
   * NestJS calls this again before it adds the routes. `@nestjs/testing` creates the modules before the adapter, so only this
   * call finds one. After the constructor has mounted the endpoint, no request reaches it a second time.
   */
  configure(): void {
    this.#host.httpAdapter?.use(this.#endpoint.middleware);
  }

  static serve(endpoint: JwksEndpoint): DynamicModule {
    return { module: JwksModule, providers: [{ provide: ENDPOINT, useValue: endpoint }] };
  }
}
