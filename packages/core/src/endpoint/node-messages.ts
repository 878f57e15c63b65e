import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/**
 * A request as Node's servers give it: `IncomingMessage` of `node:http` and `node:https`, `Http2ServerRequest` of
 * `node:http2`.
 *
 * @example
 * ```ts
 * import type { NodeRequest } from "@signpost/core";
 *
 * export const isHead = (request: NodeRequest): boolean => request.method === "HEAD";
 * ```
 */
export interface NodeRequest {
  /** The method, in the case in which it was sent. */
  readonly method?: string | undefined;
  /** The request target. */
  readonly url?: string | undefined;
  /** The headers, by lower-case name. */
  readonly headers: IncomingHttpHeaders;
}

/**
 * The response to a `NodeRequest`: `ServerResponse` of `node:http` and `node:https`, `Http2ServerResponse` of
 * `node:http2`.
 *
 * @example
 * ```ts
 * import type { JwksEndpoint, NodeRequest, NodeResponse } from "@signpost/core";
 *
 * export function answer(endpoint: JwksEndpoint, request: NodeRequest, response: NodeResponse): void {
 *   if (endpoint.matches(request.url)) endpoint.listener(request, response);
 *   else response.writeHead(404, {}).end();
 * }
 * ```
 */
export interface NodeResponse {
  /** Whether the headers were sent. */
  readonly headersSent: boolean;
  /** Whether `end` was called. */
  readonly writableEnded: boolean;
  /** The value of a header that was set. */
  getHeader(name: string): number | string | string[] | undefined;
  /** The names of the headers that were set, in lower case. */
  getHeaderNames(): string[];
  /** Sets a header. */
  setHeader(name: string, value: string): unknown;
  /** Removes a header that was set. */
  removeHeader(name: string): void;
  /** Sets the status and headers. */
  writeHead(status: number, headers: OutgoingHttpHeaders): this;
  /** Ends the response. */
  end(): unknown;
  /** Ends the response with these bytes. */
  end(body: Uint8Array): unknown;
}
