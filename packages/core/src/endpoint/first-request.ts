import type { IncomingMessage } from "node:http";
import { ConfigurationError } from "../errors.ts";
import { createFailureReport } from "./failure-report.ts";
import { requestPath } from "./request-path.ts";
import type { Routes } from "./routes.ts";

/** The path that the client asked for. Routers in the style of Connect take their prefix off `url` and keep it in `originalUrl`. */
export function requestedPath(req: IncomingMessage & { readonly originalUrl?: unknown }): string | undefined {
  return requestPath(typeof req.originalUrl === "string" ? req.originalUrl : req.url);
}

/**
 * Looks at the path of the first request, and tells `onError` where the endpoint seems to be mounted at another place
 * than RPs are told. It may be right all the same: a proxy may strip a prefix.
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
      `the first request asked for ${JSON.stringify(path)}, and relying parties are told ${jwksUri}: mount the endpoint at ` +
      `${JSON.stringify(pathname)}, unless a proxy or router in front strips a prefix`;
    report.failed(new ConfigurationError("pathname", problem));
  };
}

/** Many routers take a path in any case, and with a trailing slash: that is no other place. */
function folded(path: string): string {
  return path.toLowerCase().replace(/\/$/, "");
}
