// Serves the page and the browser build of jose, and prints the address. PORT: default 5173, 0 for a free port.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const PUBLIC = fileURLToPath(new URL("public", import.meta.url));
const JOSE = dirname(fileURLToPath(import.meta.resolve("jose")));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8" };

const server = createServer((request, response) => {
  void serve(request, response);
});
server.listen(Number(process.env.PORT || 5173), "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}/\n`);
});

async function serve(request, response) {
  try {
    // A client may send any request target.
    const { pathname } = new URL(request.url, "http://localhost");
    const [folder, path] = pathname.startsWith("/jose/") ? [JOSE, pathname.slice(5)] : [PUBLIC, pathname];
    const type = TYPES[extname(path === "/" ? "index.html" : path)];
    // A normalized absolute path cannot leave its folder.
    const body = await readFile(join(folder, normalize(path === "/" ? "/index.html" : path)));
    if (type === undefined) throw new Error("not a file of this page");
    response.writeHead(200, { "content-type": type }).end(body);
  } catch {
    response.writeHead(404).end();
  }
}
