import { ConfigurationError, type JwksEndpoint } from "@signpost/core";
import { failureResponse } from "./failure.ts";
import { basePathOf, type HostContext, oauthProviderOptions, type RequestHook } from "./host.ts";
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
  const isBelow =
    baseURL === "" ? endpoint.pathname.startsWith(`${base}/`) : endpoint.jwksUri.startsWith(`${baseURL}/`);
  if (!isBelow) {
    const where = baseURL === "" ? `${base}/` : `${baseURL}/`;
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
  readonly requireSigning: () => Promise<void>;
  readonly tell: (error: unknown) => void;
}

/** Answers requests for the endpoint, and those for tokens that could not be signed. */
export function requestHook({ endpoint, servesEndpoint, requireSigning, tell }: Serving): RequestHook {
  return async (request, context) => {
    const { pathname, search } = new URL(request.url);
    if (servesEndpoint && endpoint.matches(`${pathname}${search}`)) return { response: endpoint.fetch(request) };
    const base = basePathOf(context);
    // The same keys at a second URL, without an ETag and a lifetime.
    if (servesEndpoint && pathname === `${base}${HOST_JWKS}`) return { response: new Response(null, { status: 404 }) };
    const spends = request.method === "POST" && pathname === `${base}${OAUTH_TOKEN}`;
    if (!spends || oauthProviderOptions(context) === undefined) return undefined;
    try {
      await requireSigning();
      return undefined;
    } catch (error) {
      tell(error);
      return { response: failureResponse(error) };
    }
  };
}
