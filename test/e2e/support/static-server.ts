import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { startLoopbackServer, type LoopbackServer } from "./loopback-server.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

/** Serves the files of a folder, and nothing else: no fallback, no other name for a file. */
export function startStaticServer(folder: string): Promise<LoopbackServer> {
  return startLoopbackServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = join(folder, normalize(path.endsWith("/") ? `${path}index.html` : path));
    readFile(file).then(
      (body) => response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream").end(body),
      () => response.writeHead(404).end(),
    );
  });
}
