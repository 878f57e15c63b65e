import { ConfigurationError, type JwksEndpoint } from "@signpost/core";
import {
  askedOf,
  assertOptions,
  given,
  type OptionNames,
  readCallback,
  readFlag,
  removeOrigin,
  withAnyOrigin,
  writeResponse,
} from "@signpost/core/adapter";
import { announcementCheck } from "./announced-path.ts";
import type { OidcProviderContextLike, OidcProviderLike } from "./host.ts";
import { operatorReport, type TellOperator } from "./operator-reports.ts";

/** What is used of the endpoint that `createJwksEndpoint` makes. */
export type JwksEndpointLike = Pick<JwksEndpoint, "jwksUri" | "respond">;

/** Options of `mountJwks`. */
export interface MountJwksOptions {
  /**
   * Lets browsers of any origin read the key set, as the host lets them read its own. `false` leaves it to the endpoint's
   * option of this name. Default true.
   */
  readonly cors?: boolean | undefined;
  /**
   * Told once when, by the first request of one of its routes, the host announces its JWKS at another place than the
   * endpoint's `jwksUri`. What it throws is dropped. Default: a warning of the process.
   */
  readonly onError?: ((error: ConfigurationError) => void) | undefined;
}

/**
 * Serves the endpoint at the host's own JWKS path, before its routes: the host's document has neither `Cache-Control`
 * nor ETag and is frozen at construction. The host's discovery document keeps naming that path.
 *
 * Any origin may read it, as the host's own document; its answer names no origin, so shared caches keep one copy.
 *
 * `attach` of `signpostKeys` calls it. By itself it is for a Provider that signs with its own keys.
 *
 * @throws ConfigurationError when the endpoint's `jwksUri` is not the URL at which the host announces its JWKS: its
 * issuer, where it is mounted if the issuer does not say so already, and the path of its `routes.jwks`; and when it was
 * called for the provider before, by itself or by `attach`, or `provider.callback()` was.
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
export function mountJwks(
  provider: OidcProviderLike,
  endpoint: JwksEndpointLike,
  options: MountJwksOptions = {},
): void {
  assertOptions("options", options, MOUNT_OPTIONS);
  const cors = readFlag("cors", options.cors, true);
  const tell = operatorReport(readCallback("onError", options.onError));
  requireMountable(provider, endpoint);
  requireOwnEndpoint(provider, endpoint);
  requireUnserved(provider);
  mountEndpoint(provider, endpoint, cors, tell);
}

/** Those that have an endpoint: of two, the first one alone is ever asked. */
const mounted = new WeakSet<object>();

const MOUNT_OPTIONS: OptionNames<MountJwksOptions> = { cors: true, onError: true };

/** As `mountJwks`, with arguments that were checked before. */
export function mountEndpoint(
  provider: OidcProviderLike,
  endpoint: JwksEndpointLike,
  cors: boolean,
  tell: TellOperator,
): void {
  mounted.add(provider);
  const path = provider.pathFor("jwks", { mountPath: "" });
  const look = announcementCheck(provider, endpoint.jwksUri, tell);
  provider.use(async (context, next) => {
    if (!isRoute(context.path, path)) {
      await next();
      const { routerName } = context;
      if (routerName === undefined) return;
      if (routerName !== "jwks" && routerName !== "cors.jwks") return look(context);
      // The path was rewritten further in, and what the host answered there is its own document or preflight.
      removeOrigin(context.res);
    }
    look(context);
    answer(context, endpoint, cors);
  });
}

/** Koa composes its middleware when `callback()` is called, and what comes later is never asked. */
export function requireUnserved(provider: OidcProviderLike): void {
  // It is then that Koa makes itself a listener of errors.
  if (provider.onerror === undefined || provider.listeners?.("error").includes(provider.onerror) !== true) return;
  throw new ConfigurationError(
    "provider",
    "expected before provider.callback(), which takes no middleware that comes later",
  );
}

/** Written past Koa, which would add a charset to the media type. */
function answer(context: OidcProviderContextLike, endpoint: JwksEndpointLike, cors: boolean): void {
  const { req, res } = context;
  context.respond = false;
  const method = req.method ?? "";
  const asked = askedOf((name) => req.headers[name]?.toString());
  const response = endpoint.respond(method, req.headers["if-none-match"], asked);
  writeResponse(res, cors ? withAnyOrigin(response, method, asked) : response);
}

/** For callers without types: what is missing is named here, and not by the host. */
export function requireMountable(provider: Partial<OidcProviderLike>, endpoint: Partial<JwksEndpointLike>): void {
  if (typeof provider?.use !== "function" || typeof provider.pathFor !== "function") {
    throw new ConfigurationError("provider", `expected a Provider of oidc-provider, got ${given(provider)}`);
  }
  if (mounted.has(provider)) {
    throw new ConfigurationError(
      "provider",
      "expected one call of mountJwks or attach, which calls it: the first would answer alone",
    );
  }
  if (typeof endpoint?.jwksUri !== "string" || typeof endpoint.respond !== "function") {
    throw new ConfigurationError("endpoint", `expected what createJwksEndpoint returns, got ${given(endpoint)}`);
  }
}

/** Refuses an endpoint that is not the provider's: of another issuer, or at another path below it. */
export function requireOwnEndpoint(provider: OidcProviderLike, { jwksUri }: JwksEndpointLike): void {
  const path = provider.pathFor("jwks", { mountPath: "" });
  const issuer = provider.issuer.replace(/\/$/, "");
  if (jwksUri.startsWith(`${issuer}/`) && jwksUri.slice(issuer.length).endsWith(path)) return;
  throw new ConfigurationError(
    "endpoint",
    `expected a jwksUri like ${issuer}${path}, of the provider's own issuer and path, got ${jwksUri}`,
  );
}

/** As the host's router compares: in any case, and with one trailing slash or none. */
function isRoute(requested: string, path: string): boolean {
  const folded = requested.toLowerCase();
  const expected = path.toLowerCase();
  return folded === expected || folded === `${expected}/`;
}
