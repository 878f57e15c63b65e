import { ConfigurationError } from "@signpost/core";
import type { OidcProviderContextLike, OidcProviderLike } from "./host.ts";
import type { TellOperator } from "./operator-reports.ts";

/**
 * Looks at the first request that asks the endpoint or a route of the host, and tells the operator where the host's
 * discovery document names another path than the endpoint's `jwksUri`. The host learns from each request where it is
 * mounted, and a prefix that a proxy strips is lost to it. A health check that no route answers comes past that proxy,
 * and says nothing of the place.
 */
export function announcementCheck(
  provider: OidcProviderLike,
  jwksUri: string,
  tell: TellOperator,
): (context: OidcProviderContextLike) => void {
  const expected = new URL(jwksUri).pathname;
  let looked = false;
  return (context) => {
    if (looked) return;
    looked = true;
    const announced = provider.pathFor("jwks", { mountPath: mountPathOf(context) });
    // Express mounts in any case.
    if (announced.toLowerCase() === expected.toLowerCase()) return;
    const problem =
      `its jwksUri is ${jwksUri}, and the host announces the path ${JSON.stringify(announced)}: make it with the ` +
      "mountPrefix at which the provider is mounted, or mount the provider where the endpoint is; where a proxy strips " +
      "the prefix, set req.baseUrl to it in front of the provider";
    tell(new ConfigurationError("endpoint", problem));
  };
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
