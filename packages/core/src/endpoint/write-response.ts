import type { ServerResponse } from "node:http";
import type { JwksResponse } from "./respond.ts";

/** Headers that are this endpoint's alone to decide: where a response does not carry one, nobody before may have set it. */
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
];

/**
 * Writes status, headers and bytes as they are, past the conveniences of a framework. Other headers that were set
 * before stay. Where something answered the request before, there is nothing left to write.
 */
export function writeResponse(res: ServerResponse, { status, headers, body }: JwksResponse): void {
  if (res.headersSent || res.writableEnded) return;
  for (const name of OWN_HEADERS) res.removeHeader(name);
  res.writeHead(status, headers);
  if (body === null) res.end();
  else res.end(body);
}
