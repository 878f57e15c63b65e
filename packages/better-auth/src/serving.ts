import { ConfigurationError, type JwksEndpoint } from "@signpost/core";
import { basePathOf, type CallHook, type HostContext, type RequestHook, signingProviderOptions } from "./host.ts";
import type { HostOptions } from "./host-options.ts";

/** The path of the host's own key set, below its base path. */
const HOST_JWKS = "/jwks";
const OAUTH_TOKEN = "/oauth2/token";

/**
 * Makes the host announce the URL of the endpoint as its own. The host then reads the keys in this process, and not over HTTP.
 *
 * @throws ConfigurationError if the host does not answer at this URL.
 */
export function announceEndpoint(endpoint: JwksEndpoint, context: HostContext, { jwks }: HostOptions): void {
  const base = basePathOf(context);
  const { baseURL } = context;
  if (baseURL.endsWith("/")) {
    // The host joins the path to it as it is.
    const problem = `expected a URL without a slash at the end, got ${baseURL}: better-auth would announce ${baseURL}${HOST_JWKS}`;
    throw new ConfigurationError("baseURL", problem);
  }
  const where = baseURL === "" ? `${base}/` : new URL(baseURL).href.replace(/\/?$/, "/");
  const published = baseURL === "" ? endpoint.pathname : new URL(endpoint.jwksUri).href;
  if (!published.startsWith(where)) {
    const problem =
      `expected a jwksUri below ${where}, where better-auth answers, got ${endpoint.jwksUri}; ` +
      `create the endpoint with mountPrefix: ${JSON.stringify(base)}, or set servesEndpoint: false if something else serves it`;
    throw new ConfigurationError("endpoint", problem);
  }
  jwks.jwksPath = endpoint.pathname.slice(base.length);
  delete jwks.remoteUrl;
}

interface Serving {
  readonly endpoint: JwksEndpoint;
  readonly servesEndpoint: boolean;
}

/** Answers requests for the endpoint. */
export function requestHook({ endpoint, servesEndpoint }: Serving): RequestHook {
  return async (request, context) => {
    if (!servesEndpoint) return undefined;
    const { pathname, search } = new URL(request.url);
    const path = withoutSlash(pathname, context);
    if ([pathname, path].some((asked) => endpoint.matches(`${asked}${search}`))) {
      return { response: endpoint.fetch(request) };
    }
    // The same keys at a second URL, without an ETag and a lifetime.
    if (path === `${basePathOf(context)}${HOST_JWKS}`) return { response: new Response(null, { status: 404 }) };
    return undefined;
  };
}

/** The path that the host routes. With `skipTrailingSlashes`, it takes `/jwks/` for `/jwks`. */
function withoutSlash(pathname: string, { options }: HostContext): string {
  return options.advanced?.skipTrailingSlashes === true ? pathname.replace(/\/$/, "") : pathname;
}

/**
 * Turns away calls for tokens that could not be signed, before the host uses up their code. The host asks it after routing,
 * so it sees each path that the host takes for this one, and calls of `auth.api` too.
 */
export function spendingHook(requireSigning: () => Promise<void>): CallHook {
  return {
    matcher: ({ path, context }) => path === OAUTH_TOKEN && signingProviderOptions(context) !== undefined,
    handler: async () => {
      await requireSigning();
      return undefined;
    },
  };
}
