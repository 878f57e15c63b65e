import type { IncomingMessage, ServerResponse } from "node:http";

const MAX_FORM_BYTES = 16_384;

/** Any answer except the JWKS. It must not be cached. */
export interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export function send(response: ServerResponse, { status, json, headers }: Answer): void {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers });
  response.end(JSON.stringify(json));
}

/** The parameters of a form, each at most once (RFC 6749 section 3.2), or undefined. */
export async function readForm(request: IncomingMessage): Promise<ReadonlyMap<string, string> | undefined> {
  if (request.headers["content-type"]?.split(";", 1)[0]?.trim() !== "application/x-www-form-urlencoded")
    return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_FORM_BYTES) return undefined;
    chunks.push(chunk);
  }
  const pairs = [...new URLSearchParams(Buffer.concat(chunks).toString("utf8"))];
  const form = new Map(pairs);
  return form.size === pairs.length ? form : undefined;
}
