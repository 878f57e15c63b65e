// Absolute form always has a host (RFC 9110 section 4.2.1), but its path may be missing.
const TARGET = /^(?<origin>https?:\/\/[^/?#]+)?(?<path>\/[^?]*)?(?:\?|$)/i;

/**
 * The path of a request target in origin form (`/jwks?a=b`) or absolute form (`http://op.example/jwks`), which every
 * server must accept (RFC 9112 section 3.2.2). The path is neither decoded nor normalized. Returns undefined for a target
 * in any other form.
 *
 * Use it in a plain `node:http` server, where `req.url` is the target as it was sent. Framework routers do this for you.
 * For the JWKS endpoint, use `endpoint.matches(req.url)`.
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
