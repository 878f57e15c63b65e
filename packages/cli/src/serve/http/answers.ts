import type { IncomingMessage, ServerResponse } from "node:http";
import type { JwksResponse } from "@signpost/core";
import { writeResponse } from "@signpost/core/adapter";

/** A response for any client: nothing in it is kept by caches, unless its headers say so. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export const NOT_FOUND: Answer = plain(404, "Not found");

export function plain(status: number, text: string, headers?: Answer["headers"]): Answer {
  return { status, type: "text/plain; charset=utf-8", text: `${text}\n`, headers };
}

/** The answer of a route that only reads: GET, HEAD, and 405 for anything else. */
export function readOnly(method: string | undefined, make: () => Answer): Answer {
  if (method === "GET" || method === "HEAD") return make();
  return plain(405, "Method not allowed", { Allow: "GET, HEAD" });
}

/** Writes an answer. HEAD gets its headers only. */
export function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const body = new TextEncoder().encode(answer.text);
  const headers = {
    "Content-Type": answer.type,
    "Content-Length": String(body.length),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...answer.headers,
  };
  const written: JwksResponse = { status: answer.status, headers, body: request.method === "HEAD" ? null : body };
  writeResponse(response, written);
}
