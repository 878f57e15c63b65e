import { ConfigurationError, type JwksEndpoint, type OwnKeys, type SignWithOptions } from "@signpost/core";
import {
  assertOptions,
  expiryReport,
  given,
  operatorReport,
  type OptionNames,
  readCallback,
  readChoice,
  readFlag,
  readOwnKeys,
} from "@signpost/core/adapter";
import { hostFailure } from "./failure.ts";
import {
  type ApiErrorClassLike,
  type HostContext,
  type HostPlugin,
  type JwtFunctionLike,
  type JwtPluginLike,
  oauthProviderOptions,
  requireOneJwtPlugin,
} from "./host.ts";
import { hostOptions } from "./host-options.ts";
import { hintHook } from "./logout-hints.ts";
import { changedResourceHook, requestedResourceHook, requireSignableResources } from "./oauth-provider.ts";
import { announceEndpoint, requestHook, spendingHook } from "./serving.ts";
import { createTokenSigner } from "./token-signer.ts";
import { hostKeys, withLiveKeys } from "./verifying-keys.ts";

/** Options of `signpostJwt`. */
export interface SignpostJwtOptions<Jwt extends JwtFunctionLike> {
  /** The host's plugin: `import { jwt } from "better-auth/plugins"`. Required. */
  readonly jwt: Jwt;
  /** The host's class: `import { APIError } from "better-auth/api"`. Required. */
  readonly APIError: ApiErrorClassLike;
  /** A rotation schedule, a key set, a function that returns a key set, or a list of entries. Required. */
  readonly keys: OwnKeys;
  /** The endpoint that publishes the same `keys`. Required. */
  readonly endpoint: JwksEndpoint;
  /**
   * Options for `jwt()`, except those for its own keys. Defaults that differ from the host's: `jwt.issuer` is the issuer of
   * the endpoint, and `disableSettingJwtHeader` is true.
   */
  readonly options?: Parameters<Jwt>[0] | undefined;
  /**
   * Whether the host serves the endpoint. Default true. With false, a CDN or your own server must serve it, and the host
   * verifies its own tokens with what it fetches from there.
   */
  readonly servesEndpoint?: boolean | undefined;
  /** `"always"` (default) verifies each signature. `"first"` stops verifying after the first good one. */
  readonly verify?: SignWithOptions["verify"];
  /**
   * Called for each token that could not be signed, with the error of Signpost, and once for a token that expires after its
   * key is withdrawn. Errors that it throws are dropped. Default: the host's own log.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const OPTIONS: OptionNames<SignpostJwtOptions<JwtFunctionLike>> = {
  jwt: true,
  APIError: true,
  keys: true,
  endpoint: true,
  options: true,
  servesEndpoint: true,
  verify: true,
  onError: true,
};

/**
 * The plugin `jwt()` of better-auth, with keys in a KMS or HSM. It signs each token with the active key, serves the endpoint,
 * verifies with the published keys, and follows a rotation. `@better-auth/oauth-provider` uses it as it uses `jwt()`.
 *
 * A failure to sign becomes an `APIError` of the host: 503 with `Retry-After` if it is transient, otherwise 500. Its `cause` is
 * the error of Signpost.
 *
 * @throws ConfigurationError for options that are missing or unknown, and for options of `jwt()` that need keys of the host or
 * another algorithm. The start of the host throws it for an endpoint that the host does not serve, for resources of
 * `oauthProvider` with another algorithm, and if the list of plugins has `jwt()` too.
 * @example
 * ```ts
 * import { betterAuth } from "better-auth";
 * import { APIError } from "better-auth/api";
 * import { jwt } from "better-auth/plugins";
 * import { createJwksEndpoint, type RotationSchedule } from "@signpost/core";
 * import { signpostJwt } from "@signpost/better-auth";
 *
 * const issuer = "https://op.example";
 * export function createAuth(keys: RotationSchedule) {
 *   const endpoint = createJwksEndpoint({ issuer, mountPrefix: "/api/auth", keys });
 *   return betterAuth({ baseURL: issuer, plugins: [signpostJwt({ jwt, APIError, keys, endpoint })] });
 * }
 * ```
 */
export function signpostJwt<Jwt extends JwtFunctionLike>(options: SignpostJwtOptions<Jwt>): ReturnType<Jwt> {
  assertOptions("options", options, OPTIONS);
  const { jwt, APIError, endpoint, verify = "always" } = options;
  requireFunction("jwt", jwt, "better-auth/plugins");
  requireFunction("APIError", APIError, "better-auth/api");
  requireEndpoint(endpoint);
  const servesEndpoint = readFlag("servesEndpoint", options.servesEndpoint, true);
  const { source, latestExpiry } = readOwnKeys(options.keys);
  let log: HostContext["logger"] | undefined;
  const tell = operatorReport(
    readCallback("onError", options.onError) ?? ((error) => log?.error("Signpost could not sign as it should", error)),
  );
  const failed = (error: unknown): never => {
    tell(error);
    throw hostFailure(error, APIError);
  };
  const tokens = createTokenSigner({
    source,
    endpoint,
    verify: readChoice<"always" | "first">("verify", verify, ["always", "first"]),
    reportExpiry: expiryReport(latestExpiry, tell),
  });
  const settings = hostOptions(options.options, {
    endpoint,
    keys: () => hostKeys(endpoint),
    sign: (...token) => tokens.sign(...token).catch(failed),
  });
  const plugin = jwt(settings as never) as ReturnType<Jwt>;
  const host = plugin as JwtPluginLike as HostPlugin;
  const { getJwks } = host.endpoints;
  const wrapped: HostPlugin & { readonly onRequest: unknown } = {
    init: (context) => {
      log = context.logger;
      requireOneJwtPlugin(context);
      requireSignableResources(oauthProviderOptions(context) ?? {});
      if (servesEndpoint) announceEndpoint(endpoint, context, settings);
      return host.init?.(context);
    },
    onRequest: requestHook({ endpoint, servesEndpoint }),
    hooks: {
      ...host.hooks,
      before: [
        ...(host.hooks?.before ?? []),
        hintHook(endpoint),
        changedResourceHook(),
        requestedResourceHook(failed),
        spendingHook(() => tokens.requireSigning().catch(failed)),
      ],
    },
    endpoints: {
      ...host.endpoints,
      getJwks: Object.assign(async (context: unknown) => withLiveKeys(await getJwks(context), endpoint), getJwks),
    },
  };
  return { ...plugin, ...wrapped };
}

function requireFunction(argument: string, value: unknown, from: string): void {
  if (typeof value === "function") return;
  const problem = `expected the ${argument} of "${from}", got ${given(value)}`;
  throw new ConfigurationError(argument, problem);
}

function requireEndpoint(endpoint: unknown): void {
  const { respond, matches, jwksUri }: Partial<JwksEndpoint> = Object(endpoint);
  if (typeof respond === "function" && typeof matches === "function" && typeof jwksUri === "string") return;
  throw new ConfigurationError("endpoint", `expected the result of createJwksEndpoint, got ${given(endpoint)}`);
}
