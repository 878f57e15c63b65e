// undici's own `fetch`, which matches its dispatchers. Node's built-in one may be of another version. It is loaded with the first
// request, because it takes longer to load than the rest of this package and core together. Its file is named, because Bun has a
// module "undici" of another kind, whose `fetch` ignores dispatchers, and with them the address guard.
import type { Dispatcher } from "undici";
import { requireGuard } from "./guard-proof.ts";
import { publicDispatcher } from "./public-dispatcher.ts";
import type { FetchLike } from "./request.ts";

/** How a set without its own `fetch` connects. Every call uses the same connections. */
export function fetchThrough(dispatcher: Dispatcher | undefined): () => Promise<FetchLike> {
  return async () => {
    const { fetch } = await import("undici/index.js");
    if (dispatcher === undefined) return fetch;
    await requireGuard(dispatcher);
    return (url, init) => fetch(url, { ...init, dispatcher });
  };
}

/** The same, but only to public addresses. */
export function publicFetch(): () => Promise<FetchLike> {
  let dispatcher: Dispatcher | undefined;
  return async () => {
    dispatcher ??= publicDispatcher(await import("undici/index.js"));
    return fetchThrough(dispatcher)();
  };
}
