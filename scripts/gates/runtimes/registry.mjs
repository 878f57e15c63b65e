import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename } from "node:path";
import { run } from "../../lib/process.mjs";
import { twoAtATime } from "../../lib/tools.mjs";

/**
 * Serves packed packages as an npm registry on the loopback interface, so that every package manager installs them by name, as a
 * user does. Other packages come from the usual registry.
 *
 * @param {readonly string[]} tarballs
 * @returns {Promise<{ url: string, close(): void }>}
 */
export async function serveTarballs(tarballs) {
  const packed = await twoAtATime(tarballs.map((path) => () => readTarball(path)));
  const server = createServer((req, res) => {
    const path = decodeURIComponent(new URL(req.url ?? "/", "http://registry").pathname).slice(1);
    const file = packed.find(({ name }) => path === `files/${name}`);
    const known = packed.find(({ manifest }) => path === manifest.name);
    if (file !== undefined) res.end(file.content);
    else if (known !== undefined) res.setHeader("Content-Type", "application/json").end(document(known, url));
    else res.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`;
  return { url, close: () => server.close() };
}

/** @typedef {{ name: string, content: Buffer, manifest: any }} Packed */

/** @param {string} path @returns {Promise<Packed>} */
async function readTarball(path) {
  const { output } = await run("tar", ["-xzOf", path, "package/package.json"], { quiet: true });
  return { name: basename(path), content: readFileSync(path), manifest: JSON.parse(output) };
}

/** @param {Packed} packed @param {string} url */
function document({ name, content, manifest }, url) {
  const integrity = `sha512-${createHash("sha512").update(content).digest("base64")}`;
  const version = { ...manifest, dist: { tarball: `${url}files/${name}`, integrity } };
  return JSON.stringify({
    name: manifest.name,
    "dist-tags": { latest: manifest.version },
    versions: { [manifest.version]: version },
  });
}
