import { ConfigurationError, type JwksEndpoint } from "@signpost/core";
import {
  askedOf,
  assertOptions,
  given,
  operatorReport,
  type OptionNames,
  publishedKeys,
  readCallback,
  readFlag,
  removeOrigin,
  type TellOperator,
  withAnyOrigin,
  writeResponse,
} from "@signpost/core/adapter";
import { announcementCheck } from "./announced-path.ts";
import { isSigningHost, type OidcProviderContextLike, type OidcProviderLike } from "./host.ts";
import { hostKeysCheck } from "./host-algorithms.ts";

/** The parts of a `JwksEndpoint` that the plug uses. */
export type JwksEndpointLike = Pick<JwksEndpoint, "jwksUri" | "respond">;

/** Options of `mountJwks`. */
export interface MountJwksOptions {
  /**
   * Lets browsers of any origin read the key set, as the host does for its own. With `false`, the endpoint's own `cors`
   * option decides. Default true.
   */
  readonly cors?: boolean | undefined;
  /**
   * Called once if the first request shows that the host announces a JWKS URL that differs from the endpoint's `jwksUri`.
   * Also called if the host signs with a key that the endpoint does not publish, or with algorithms that it is not
   * published for, and once if the host serves its own key set, because `mountJwks` was called too late. Errors that it
   * throws are dropped. Default: a process warning.
   */
  readonly onError?: ((error: ConfigurationError) => void) | undefined;
}

/**
 * Serves the endpoint at the host's JWKS path, in front of the host's routes. The host's own document has no
 * `Cache-Control` and no ETag, and never changes after construction. The discovery document of the host stays the same.
 *
 * Any origin may read it, like the host's own document. The response does not depend on the origin, so shared caches keep
 * one copy.
 *
 * `attach` of `signpostKeys` calls it for you. Call it yourself for a Provider that signs with its own keys.
 *
 * @throws ConfigurationError if the endpoint's `jwksUri` cannot be the JWKS URL of the host: the issuer, the mount path if
 * the issuer does not contain it, and the path `routes.jwks`. Also if `mountJwks`, `attach` or `provider.callback()` was
 * already called for the provider. If the provider was already mounted, or has your own listener for `error`, this is only
 * found at a request for the key set, and told to `onError`.
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
  const check = isSigningHost(provider) ? hostKeysCheck(provider, () => publishedKeys(endpoint), tell) : () => {};
  mountEndpoint(provider, endpoint, cors, tell, check);
  check();
}

/** The providers that have an endpoint. With two endpoints, only the first one would ever be called. */
const mounted = new WeakSet<object>();

const MOUNT_OPTIONS: OptionNames<MountJwksOptions> = { cors: true, onError: true };

/** Same as `mountJwks`, for checked arguments. */
export function mountEndpoint(
  provider: OidcProviderLike,
  endpoint: JwksEndpointLike,
  cors: boolean,
  tell: TellOperator,
  afterAnswer: () => void,
): void {
  mounted.add(provider);
  const path = provider.pathFor("jwks", { mountPath: "" });
  const look = announcementCheck(provider, endpoint.jwksUri, tell);
  const seen = new WeakSet<object>();
  reportBypass(provider, (context) => seen.has(context), tell);
  provider.use(async (context, next) => {
    seen.add(context);
    if (!isRoute(context.path, path)) {
      await next();
      const { routerName } = context;
      if (routerName === undefined) return;
      if (routerName !== "jwks" && routerName !== "cors.jwks") return look(context);
      // A later middleware rewrote the path, and the host answered with its own document or preflight.
      removeOrigin(context.res);
    }
    look(context);
    answer(context, endpoint, cors);
    afterAnswer();
  });
}

/**
 * Reports once if the host answers a request for its key set that the plug has not seen. A mount, and an OP with its own error
 * listener, leave no trace that Koa has composed its middleware. The host makes a context for each request that reaches its
 * routes. The OP may make such contexts too, for any object.
 */
function reportBypass(
  provider: OidcProviderLike,
  isSeen: (context: OidcProviderContextLike) => boolean,
  tell: TellOperator,
): void {
  const { OIDCContext } = provider;
  if (OIDCContext === undefined) return;
  let told = false;
  const construct = (
    target: typeof OIDCContext,
    args: [OidcProviderContextLike],
    newTarget: NewableFunction,
  ): object => {
    const made = Reflect.construct(target, args, newTarget) as { readonly route?: unknown };
    if (!told && made.route === "jwks" && !isSeen(...args)) {
      told = true;
      const problem =
        "its own key set was served instead of the endpoint's: call this before provider.callback(), and before a mount";
      tell(new ConfigurationError("provider", problem));
    }
    return made;
  };
  Object.defineProperty(provider, "OIDCContext", { value: new Proxy(OIDCContext, { construct }), configurable: true });
}

/** Koa composes its middleware when `callback()` is called. Middleware added later never runs. */
export function requireUnserved(provider: OidcProviderLike): void {
  // `callback()` is also where Koa adds its error listener.
  if (provider.onerror === undefined || provider.listeners?.("error").includes(provider.onerror) !== true) return;
  throw new ConfigurationError(
    "provider",
    "must be called before provider.callback(), since middleware added later never runs",
  );
}

/** Bypasses Koa, which would add a charset to the media type. */
function answer(context: OidcProviderContextLike, endpoint: JwksEndpointLike, cors: boolean): void {
  const { req, res } = context;
  context.respond = false;
  const method = req.method ?? "";
  const asked = askedOf((name) => req.headers[name]?.toString());
  const response = endpoint.respond(method, req.headers["if-none-match"], asked);
  writeResponse(res, cors ? withAnyOrigin(response, method, asked) : response);
}

/** For callers without types: names the wrong argument, instead of a TypeError from inside the host. */
export function requireMountable(provider: Partial<OidcProviderLike>, endpoint: Partial<JwksEndpointLike>): void {
  if (typeof provider?.use !== "function" || typeof provider.pathFor !== "function") {
    throw new ConfigurationError("provider", `expected a Provider from oidc-provider, got ${given(provider)}`);
  }
  if (mounted.has(provider)) {
    throw new ConfigurationError(
      "provider",
      "mountJwks or attach was already called for it, and only the first endpoint would ever answer",
    );
  }
  if (typeof endpoint?.jwksUri !== "string" || typeof endpoint.respond !== "function") {
    throw new ConfigurationError("endpoint", `expected a result of createJwksEndpoint, got ${given(endpoint)}`);
  }
}

/** Refuses an endpoint whose issuer or path differs from the provider's. */
export function requireOwnEndpoint(provider: OidcProviderLike, { jwksUri }: JwksEndpointLike): void {
  const path = provider.pathFor("jwks", { mountPath: "" });
  const issuer = provider.issuer.replace(/\/$/, "");
  if (jwksUri.startsWith(`${issuer}/`) && jwksUri.slice(issuer.length).endsWith(path)) return;
  throw new ConfigurationError(
    "endpoint",
    `expected a jwksUri like ${issuer}${path}, with the issuer and the path of the provider, got ${jwksUri}`,
  );
}

/** Compares like the host's router: ignores case and one trailing slash. */
function isRoute(requested: string, path: string): boolean {
  const folded = requested.toLowerCase();
  const expected = path.toLowerCase();
  return folded === expected || folded === `${expected}/`;
}
