import { request, type IncomingHttpHeaders } from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Not decoded: what came over the wire. */
  readonly body: Buffer;
}

export interface Question {
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * One request with these headers and no others. Node's `fetch` is no client for a test of caches: it asks for
 * compression, and adds `Cache-Control: no-cache` to a conditional request.
 */
export function ask(origin: string, { method = "GET", path = "/jwks", headers = {} }: Question = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, origin), { method, headers, agent: false, timeout: 20_000 }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer to ${method} ${path}`)));
    outgoing.on("error", reject);
    outgoing.end();
  });
}
