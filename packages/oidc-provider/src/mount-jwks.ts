import { ConfigurationError, type JwksEndpoint } from "@signpost/core";
import type { HostProvider } from "./host.ts";

/** What is used of a JWKS endpoint. */
export type JwksListener = Pick<JwksEndpoint, "path" | "jwksUri" | "listener">;

/**
 * Serves the endpoint at the host's own JWKS path, before its routes: the host's document has neither `Cache-Control`
 * nor ETag and is frozen at construction. The host's discovery document keeps naming that path.
 *
 * @throws ConfigurationError when the endpoint's `jwksUri` is not the URL at which the host announces its JWKS.
 */
export function mountJwks(provider: HostProvider, endpoint: JwksListener): void {
  const path = provider.pathFor("jwks", { mountPath: "" });
  const announced = provider.urlFor("jwks");
  if (!endpoint.jwksUri.endsWith(path)) {
    throw new ConfigurationError(
      "endpoint",
      `expected a jwksUri that ends with the provider's own path ${path} (announced as ${announced}), got ${endpoint.jwksUri}`,
    );
  }
  provider.use(async (context, next) => {
    if (context.path !== path) return next();
    context.respond = false;
    endpoint.listener(context.req, context.res);
  });
}
