import { type ActiveKey, ConfigurationError, type JwksEndpoint } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import type { OidcProviderLike } from "./host.ts";

/** What is used of the endpoint that `createJwksEndpoint` makes. */
export type JwksEndpointLike = Pick<JwksEndpoint, "jwksUri" | "listener" | "respond">;

/**
 * Serves the endpoint at the host's own JWKS path, before its routes: the host's document has neither `Cache-Control`
 * nor ETag and is frozen at construction. The host's discovery document keeps naming that path.
 *
 * The host lets any origin read its document; this is the endpoint's own option `cors`.
 *
 * `attach` of `signpostKeys` calls it. By itself it is for a Provider that signs with its own keys.
 *
 * @throws ConfigurationError when the endpoint's `jwksUri` is not the URL at which the host announces its JWKS: its
 * issuer, where it is mounted if the issuer does not say so already, and the path of its `routes.jwks`.
 * @example
 * ```ts
 * import type { Provider } from "oidc-provider";
 * import { createJwksEndpoint, type RotationSchedule } from "@signpost/core";
 * import { mountJwks } from "@signpost/oidc-provider";
 *
 * export function publish(provider: Provider, schedule: RotationSchedule): void {
 *   mountJwks(provider, createJwksEndpoint({ issuer: provider.issuer, keys: schedule }));
 * }
 * ```
 */
export function mountJwks(provider: OidcProviderLike, endpoint: JwksEndpointLike): void {
  requireMountable(provider, endpoint);
  const path = provider.pathFor("jwks", { mountPath: "" });
  const issuer = provider.issuer.replace(/\/$/, "");
  if (!endpoint.jwksUri.startsWith(`${issuer}/`) || !endpoint.jwksUri.slice(issuer.length).endsWith(path)) {
    throw new ConfigurationError(
      "endpoint",
      `expected a jwksUri like ${issuer}${path}, of the provider's own issuer and path, got ${endpoint.jwksUri}`,
    );
  }
  provider.use(async (context, next) => {
    if (!isRoute(context.path, path)) {
      await next();
      // The path was rewritten further in, and what the host answered there is its own document.
      if (context.routerName !== "jwks") return;
    }
    context.respond = false;
    endpoint.listener(context.req, context.res);
  });
}

/** For callers without types: what is missing is named here, and not by the host. */
export function requireMountable(provider: Partial<OidcProviderLike>, endpoint: Partial<JwksEndpointLike>): void {
  if (typeof provider?.use !== "function" || typeof provider.pathFor !== "function") {
    throw new ConfigurationError("provider", `expected a Provider of oidc-provider, got ${given(provider)}`);
  }
  if (typeof endpoint?.jwksUri !== "string" || typeof endpoint.listener !== "function") {
    throw new ConfigurationError("endpoint", `expected what createJwksEndpoint returns, got ${given(endpoint)}`);
  }
}

/** As the host's router compares: in any case, and with one trailing slash or none. */
function isRoute(requested: string, path: string): boolean {
  const folded = requested.toLowerCase();
  const expected = path.toLowerCase();
  return folded === expected || folded === `${expected}/`;
}

/**
 * Keeps a key that RPs cannot find from signing: an endpoint that was made from `schedule.keySet()` instead of
 * `schedule` goes on publishing the keys of the day on which it was made.
 */
export function publicationCheck(): (endpoint: JwksEndpointLike, key: ActiveKey) => void {
  const found = new WeakSet<ActiveKey>();
  return (endpoint, key) => {
    if (found.has(key)) return;
    const { status, body } = endpoint.respond("GET");
    // An endpoint without any document reports that itself.
    if (status !== 200 || body === null) return;
    const { keys } = JSON.parse(new TextDecoder().decode(body)) as { keys: Partial<Record<string, unknown>>[] };
    if (!keys.some(({ kid, x }) => kid === key.keyId && x === key.publicKey.x)) {
      throw new ConfigurationError(
        "endpoint",
        `expected an endpoint of the same keys, which publishes the active one: ${JSON.stringify(key.keyId)}`,
      );
    }
    found.add(key);
  };
}
