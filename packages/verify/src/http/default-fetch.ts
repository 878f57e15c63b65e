import { hasGlobalDispatcher } from "./global-dispatcher.ts";
import { nodeFetch } from "./node-fetch.ts";
import type { FetchLike } from "./request.ts";
import { fetchThrough } from "./undici-fetch.ts";

/** Other runtimes rebuild node:http on their own clients. undici runs there on their sockets, and has been tried. */
const IS_NODE = process.versions["bun"] === undefined && process.versions["deno"] === undefined;

/**
 * How a set connects that has no `fetch` and no dispatcher. Loading undici takes most of the time of a fresh process to its first
 * verified token, so it is loaded only if the program has set a dispatcher for all requests.
 */
export function defaultFetch(): () => Promise<FetchLike> {
  const byUndici = fetchThrough(undefined);
  return async () => (IS_NODE && !hasGlobalDispatcher() ? nodeFetch : byUndici());
}
