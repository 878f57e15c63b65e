import { ConfigurationError } from "@signpost/core";
import type { TellOperator } from "@signpost/core/adapter";
import type { OidcProviderContextLike, OidcProviderLike } from "./host.ts";

/**
 * Checks the first request to the endpoint or to a route of the host. If the path in the host's discovery document differs
 * from the endpoint's `jwksUri`, the operator gets a report. The host learns from each request where it is mounted, and does
 * not see a prefix that a proxy strips. A health check that matches no route may bypass that proxy, so it is not checked.
 *
 * Also checks the scheme of the first request to the issuer's host name. A request to another host name may have bypassed
 * the proxy that terminates TLS.
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
    // Express ignores case.
    if (announced.toLowerCase() === expected.pathname.toLowerCase()) return;
    const problem =
      `its jwksUri is ${jwksUri}, but the host announces the path ${JSON.stringify(announced)}: create it with the ` +
      "mountPrefix of the provider, or mount the provider at the path of the endpoint; if a proxy strips the prefix, " +
      "set req.baseUrl to the prefix in front of the provider";
    tell(new ConfigurationError("endpoint", problem));
  };
  const lookAtScheme = ({ protocol }: OidcProviderContextLike): void => {
    schemeSeen = true;
    if (`${protocol}:` === expected.protocol) return;
    const problem =
      `its jwksUri is ${jwksUri}, but the host announces it as ${protocol}://${expected.host}: if a proxy terminates TLS, ` +
      "set provider.proxy to true (with koa-mount, that of the outer app), and let the proxy send X-Forwarded-Proto";
    tell(new ConfigurationError("endpoint", problem));
  };
  return (context) => {
    if (!pathSeen) lookAtPath(context);
    if (!schemeSeen && context.host === expected.host && !isPastProxy(context)) lookAtScheme(context);
  };
}

/** If a proxy is trusted, a request without its X-Forwarded-Proto has bypassed it. */
function isPastProxy({ app, req }: OidcProviderContextLike): boolean {
  return app.proxy === true && req.headers["x-forwarded-proto"] === undefined;
}

/**
 * Follows the rule of the host's `ctx.oidc.urlFor` (9.11 to 9.13), with one difference. The host looks for the first
 * occurrence of the URL in the original URL, which gives the same result for the discovery document. But for another
 * route the mount path may end with the name of the route: `/v1/token/token`.
 */
function mountPathOf({ req, request: { url }, mountPath }: OidcProviderContextLike): string {
  const { originalUrl, baseUrl }: { originalUrl?: string; baseUrl?: string } = req as object;
  const prefix = originalUrl?.endsWith(url) === true ? originalUrl.slice(0, originalUrl.length - url.length) : "";
  return prefix || mountPath || baseUrl || "";
}
