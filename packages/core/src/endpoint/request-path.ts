// Absolute form has a host (RFC 9110 section 4.2.1), and only its path may be missing.
const TARGET = /^(?<origin>https?:\/\/[^/?#]+)?(?<path>\/[^?]*)?(?:\?|$)/i;

/**
 * The path that a request asks for, for servers that route by it themselves: of a target in origin form
 * (`/jwks?a=b`), and of one in absolute form (`http://op.example/jwks`), which every server must accept
 * (RFC 9112 section 3.2.2). It is neither decoded nor normalised. A target in another form has none.
 *
 * For servers on `node:http`, whose `req.url` is the target as it was sent. Routers of frameworks do this themselves,
 * and for the JWKS endpoint `endpoint.matches(req.url)` does.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { requestPath, type JwksEndpoint } from "@signpost/core";
 *
 * export function serve(endpoint: JwksEndpoint): void {
 *   createServer((req, res) => {
 *     if (endpoint.matches(req.url)) endpoint.listener(req, res);
 *     else if (requestPath(req.url) === "/healthz") res.end();
 *     else res.writeHead(404).end();
 *   }).listen(8080);
 * }
 * ```
 */
export function requestPath(target: string | undefined): string | undefined {
  const { origin, path } = TARGET.exec(target ?? "")?.groups ?? {};
  return path ?? (origin === undefined ? undefined : "/");
}
