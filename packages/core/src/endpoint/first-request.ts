import type { NodeRequest } from "./node-messages.ts";
import { ConfigurationError } from "../errors.ts";
import { createFailureReport } from "./failure-report.ts";
import { requestPath } from "./request-path.ts";
import type { Routes } from "./routes.ts";

/** The path that the client requested. Connect-style routers strip their prefix from `url` and keep `originalUrl`. */
export function requestedPath(req: NodeRequest & { readonly originalUrl?: unknown }): string | undefined {
  return requestPath(typeof req.originalUrl === "string" ? req.originalUrl : req.url);
}

/**
 * Checks the path of the first request, and reports to `onError` if the endpoint seems to be mounted somewhere else than
 * the published URL says. It is only a hint, since a proxy may strip a prefix.
 */
export function createFirstLook(
  { jwksUri, pathname }: Routes,
  onError: ((error: unknown) => void) | undefined,
): (asked: () => string | undefined) => void {
  const report = createFailureReport(onError);
  let looked = false;
  return (asked) => {
    const path = looked ? undefined : asked();
    if (path === undefined) return;
    looked = true;
    if (folded(path) === folded(pathname)) return;
    const problem =
      `the first request had the path ${JSON.stringify(path)}, but the published jwks_uri is ${jwksUri}: mount the endpoint ` +
      `at ${JSON.stringify(pathname)}, unless a proxy or router in front strips a prefix`;
    report.failed(new ConfigurationError("pathname", problem));
  };
}

/** Many routers ignore case and a trailing slash, so these do not count as a difference. */
function folded(path: string): string {
  return path.toLowerCase().replace(/\/$/, "");
}
