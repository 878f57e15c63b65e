import { ConfigurationError } from "@signpost/core";
import type { OidcProviderContextLike, OidcProviderLike } from "./host.ts";
import type { TellOperator } from "./operator-reports.ts";

/**
 * Looks at the first request that asks the endpoint or a route of the host, and tells the operator where the host's
 * discovery document names another path than the endpoint's `jwksUri`. The host learns from each request where it is
 * mounted, and a prefix that a proxy strips is lost to it. A health check that no route answers comes past that proxy,
 * and says nothing of the place.
 *
 * Looks at the scheme too, at the first request that names the issuer's host: any other may have come past the proxy that
 * ends TLS.
 */
export function announcementCheck(
  provider: OidcProviderLike,
  jwksUri: string,
  tell: TellOperator,
): (context: OidcProviderContextLike) => void {
  const expected = new URL(jwksUri);
  let [pathSeen, schemeSeen] = [false, false];
  const lookAtPath = (context: OidcProviderContextLike): void => {
    pathSeen = true;
    const announced = provider.pathFor("jwks", { mountPath: mountPathOf(context) });
    // Express mounts in any case.
    if (announced.toLowerCase() === expected.pathname.toLowerCase()) return;
    const problem =
      `its jwksUri is ${jwksUri}, and the host announces the path ${JSON.stringify(announced)}: make it with the ` +
      "mountPrefix at which the provider is mounted, or mount the provider where the endpoint is; where a proxy strips " +
      "the prefix, set req.baseUrl to it in front of the provider";
    tell(new ConfigurationError("endpoint", problem));
  };
  const lookAtScheme = ({ protocol }: OidcProviderContextLike): void => {
    schemeSeen = true;
    if (`${protocol}:` === expected.protocol) return;
    const problem =
      `its jwksUri is ${jwksUri}, and the host announces it as ${protocol}://${expected.host}: where a proxy ends TLS, set ` +
      "provider.proxy to true (with koa-mount that of the outer app), and have it send X-Forwarded-Proto";
    tell(new ConfigurationError("endpoint", problem));
  };
  return (context) => {
    if (!pathSeen) lookAtPath(context);
    if (!schemeSeen && context.host === expected.host && !isPastProxy(context)) lookAtScheme(context);
  };
}

/** Where a proxy is trusted, a request without its word on the scheme has come past it. */
function isPastProxy({ app, req }: OidcProviderContextLike): boolean {
  return app.proxy === true && req.headers["x-forwarded-proto"] === undefined;
}

/**
 * By the host's own rule (9.11 to 9.13), of its `ctx.oidc.urlFor`. That one looks for the first place of the URL in the
 * original one, which is the same for a request of the discovery document. For any other the mount path may end as the
 * route is called: `/v1/token/token`.
 */
function mountPathOf({ req, request: { url }, mountPath }: OidcProviderContextLike): string {
  const { originalUrl, baseUrl }: { originalUrl?: string; baseUrl?: string } = req as object;
  const prefix = originalUrl?.endsWith(url) === true ? originalUrl.slice(0, originalUrl.length - url.length) : "";
  return prefix || mountPath || baseUrl || "";
}
