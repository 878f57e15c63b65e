import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "./process.mjs";
import { cacheFolder } from "./repository.mjs";
import { say } from "./say.mjs";

/** The version whose headers are downloaded if Node has none. N-API is the same in every version that we support. */
const HEADERS_VERSION = "22.23.0";

/** Environment variables for a native build. pnpm does not read npm's setting for this. @returns {Promise<NodeJS.ProcessEnv>} */
export async function nativeBuildEnvironment() {
  const prefix = await findNodeHeaders();
  return prefix === undefined ? {} : { npm_config_nodedir: prefix };
}

/**
 * The folder that contains `include/node/node.h`, for native builds. Without it node-gyp downloads the headers from nodejs.org,
 * which many build machines cannot reach.
 *
 * @returns {Promise<string | undefined>}
 */
async function findNodeHeaders() {
  const given = process.env["npm_config_nodedir"];
  const withNode = dirname(dirname(realpathSync(process.execPath)));
  const cached = join(cacheFolder(), `node-headers-${HEADERS_VERSION}`);
  const package_ = `node-${process.platform}-${process.arch}`;
  const inCache = join(cached, "node_modules", package_);
  const found = [given, withNode, inCache].find((prefix) => prefix !== undefined && hasHeaders(prefix));
  if (found !== undefined) return found;

  say(`${process.execPath} has no headers. Installing those of ${package_}@${HEADERS_VERSION}`);
  const args = ["install", "--prefix", cached, "--ignore-scripts", "--no-save", `${package_}@${HEADERS_VERSION}`];
  await run("npm", args, { quiet: true, cwd: cacheFolder() });
  return hasHeaders(inCache) ? inCache : undefined;
}

/** @param {string} prefix */
function hasHeaders(prefix) {
  return existsSync(join(prefix, "include/node/node.h"));
}
