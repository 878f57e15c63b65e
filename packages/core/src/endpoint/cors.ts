import type { NodeResponse } from "./node-messages.ts";
import { splitTokens } from "./tokens.ts";
import type { JwksResponse } from "./respond.ts";

/** The request headers of a browser's preflight (Fetch standard, "CORS-preflight request"). */
export interface PreflightHeaders {
  /** `Origin`. */
  readonly origin?: string | null | undefined;
  /** `Access-Control-Request-Method`. An OPTIONS request without this header or without `Origin` is not a preflight. */
  readonly requestMethod?: string | null | undefined;
  /** `Access-Control-Request-Headers`, joined if the request has more than one. */
  readonly requestHeaders?: string | null | undefined;
}

/**
 * Reads the preflight headers of a request. `header` is called with lower-case names.
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

/** Request headers that RPs send and that browsers do not allow by default. */
const USUAL_HEADERS = "If-None-Match, Cache-Control";

/**
 * The same response with headers that let browsers of any origin read it. A preflight (OPTIONS with `Origin` and
 * `Access-Control-Request-Method`) gets `204`. The key set is public, so every requested header is allowed. The requested
 * headers are only echoed if they are a valid list of header names.
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
 * Removes the headers that middleware has set for one origin: `Access-Control-*`, and `Origin` in `Vary`, which would make
 * shared caches keep a copy for each origin. Does nothing if the headers were already sent.
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
export function removeOrigin(res: NodeResponse): void {
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
