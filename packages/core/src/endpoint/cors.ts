import type { ServerResponse } from "node:http";
import { splitTokens } from "./tokens.ts";
import type { JwksResponse } from "./respond.ts";

/** The request headers by which a browser asks before it sends (Fetch standard, "CORS-preflight request"). */
export interface PreflightHeaders {
  /** `Origin`. */
  readonly origin?: string | null | undefined;
  /** `Access-Control-Request-Method`. Without it and `origin`, OPTIONS is no preflight. */
  readonly requestMethod?: string | null | undefined;
  /** `Access-Control-Request-Headers`, joined when it came more than once. */
  readonly requestHeaders?: string | null | undefined;
}

/**
 * Reads them from the headers of a request, by their names in lower case.
 *
 * @example
 * ```ts
 * import type { IncomingMessage } from "node:http";
 * import { askedOf } from "@signpost/core/adapter";
 *
 * export const askedOrigin = (req: IncomingMessage) => askedOf((name) => req.headers[name]?.toString()).origin;
 * ```
 */
export function askedOf(header: (name: string) => string | null | undefined): PreflightHeaders {
  return {
    origin: header("origin"),
    requestMethod: header("access-control-request-method"),
    requestHeaders: header("access-control-request-headers"),
  };
}

const OPEN = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag" };

/** The request headers that RPs send and that browsers do not allow by themselves. */
const USUAL_HEADERS = "If-None-Match, Cache-Control";

/**
 * The response that lets browsers of any origin read it. A preflight, which is OPTIONS with `Origin` and
 * `Access-Control-Request-Method`, becomes `204`: the key set is public, so every asked header is allowed. What is asked
 * goes back only where it is a list of header names.
 *
 * @example
 * ```ts
 * import type { JwksEndpoint } from "@signpost/core";
 * import { withAnyOrigin } from "@signpost/core/adapter";
 *
 * export const readable = (endpoint: JwksEndpoint) => withAnyOrigin(endpoint.respond("GET"), "GET", {});
 * ```
 */
export function withAnyOrigin(response: JwksResponse, method: string, asked: PreflightHeaders): JwksResponse {
  if (method !== "OPTIONS" || !asked.origin || !asked.requestMethod) {
    return { ...response, headers: { ...response.headers, ...OPEN } };
  }
  const headers = {
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": splitTokens(asked.requestHeaders ?? "")?.join(", ") ?? USUAL_HEADERS,
    "Access-Control-Max-Age": "86400",
    ...OPEN,
  };
  return { status: 204, headers, body: null };
}

/**
 * Takes off a response what middleware in front has set for one origin: `Access-Control-*`, and `Origin` in `Vary`,
 * which would make shared caches keep a copy for each origin. Of one that is on its way nothing can be taken off.
 *
 * @example
 * ```ts
 * import type { ServerResponse } from "node:http";
 * import { removeOrigin } from "@signpost/core/adapter";
 *
 * export function sameForAll(res: ServerResponse): void {
 *   removeOrigin(res);
 *   res.end();
 * }
 * ```
 */
export function removeOrigin(res: ServerResponse): void {
  if (res.headersSent) return;
  for (const name of res.getHeaderNames()) {
    if (name.startsWith("access-control-")) res.removeHeader(name);
  }
  const vary = res.getHeader("vary");
  if (vary === undefined) return;
  const members = String(vary).split(",");
  const others = members.map((member) => member.trim()).filter((member) => member.toLowerCase() !== "origin");
  if (others.length === members.length) return;
  if (others.length === 0) res.removeHeader("vary");
  else res.setHeader("Vary", others.join(", "));
}
