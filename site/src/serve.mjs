// node site/src/serve.mjs FOLDER: serves the site on a free loopback port, and reloads a page when its file changes.
import { once } from "node:events";
import { watch } from "node:fs";
import { createServer as createTcpServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { createServer } from "vitepress";
import { ROOT } from "../../scripts/lib/repository.mjs";
import { sourcePages, writePages } from "./pages.mjs";
import { prepareSite } from "./prepare.mjs";

// There is nothing to save. Vite would wait for what its pages still load.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(0));

const [folder = ".tmp/site-served"] = process.argv.slice(2);
const work = resolve(ROOT, folder);
await prepareSite(work);
const port = await freePort();
const server = await createServer(work, { host: "127.0.0.1", port, strictPort: true });
await server.listen();
process.stdout.write(`The documentation is at http://127.0.0.1:${port}/ (Ctrl-C ends it)\n`);

/** @type {NodeJS.Timeout | undefined} */
let later;
for (const parent of new Set(sourcePages().map(({ file }) => dirname(file)))) {
  watch(join(ROOT, parent), () => {
    clearTimeout(later);
    // An editor makes several changes when it saves a file.
    later = setTimeout(() => writePages(join(work, "pages")), 100);
  });
}

/** A port of the loopback interface with no listener now. Vite takes 0 for its own default. */
async function freePort() {
  const probe = createTcpServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
