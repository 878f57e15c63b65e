import type { NodeResponse } from "./node-messages.ts";
import { removeOrigin } from "./cors.ts";
import type { JwksResponse } from "./respond.ts";

/** Headers that only this endpoint may set. If its response does not have one, a value set earlier is removed. */
const OWN_HEADERS = [
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "cache-control",
  "etag",
  "allow",
  "last-modified",
  "expires",
  "pragma",
  // A shared cache would give the cookie of one client to all others, or would not keep the key set.
  "set-cookie",
];

/** Headers for CDNs and proxies (`edge-control`: Akamai, `x-accel-expires`: nginx). */
const CACHE_HEADERS = ["surrogate-control", "edge-control", "x-accel-expires"];

/** In the cache they override `Cache-Control` (RFC 9213 section 2), and would keep a revoked key there. */
function isForCaches(name: string): boolean {
  return CACHE_HEADERS.includes(name) || name.endsWith("-cache-control");
}

/**
 * Writes status, headers and bytes unchanged, without a framework's additions. Other headers that were set before are
 * kept. If any origin may read the response, headers for a single origin are removed. Does nothing if the request was
 * already answered.
 *
 * @example
 * ```ts
 * import type { IncomingMessage, ServerResponse } from "node:http";
 * import type { JwksEndpoint } from "@signpost/core";
 * import { writeResponse } from "@signpost/core/adapter";
 *
 * export function answer(endpoint: JwksEndpoint, req: IncomingMessage, res: ServerResponse): void {
 *   writeResponse(res, endpoint.respond(req.method ?? "", req.headers["if-none-match"]));
 * }
 * ```
 */
export function writeResponse(res: NodeResponse, { status, headers, body }: JwksResponse): void {
  if (res.headersSent || res.writableEnded) return;
  for (const name of [...OWN_HEADERS, ...res.getHeaderNames().filter(isForCaches)]) res.removeHeader(name);
  if (headers["Access-Control-Allow-Origin"] === "*") removeOrigin(res);
  res.writeHead(status, headers);
  if (body === null) res.end();
  else res.end(body);
}
