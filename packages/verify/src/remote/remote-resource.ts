import type { KeySetErrorCode } from "../errors.ts";
import { KeySetError } from "../errors.ts";
import type { CachedResource, FetchRecord } from "../http/cached-resource.ts";
import { createCachedResource } from "../http/cached-resource.ts";
import type { FetchLimits } from "../http/fetch-limits.ts";
import { createFetchLimits } from "../http/fetch-limits.ts";
import type { FetchLike } from "../http/request.ts";
import { createThrottle } from "../http/throttle.ts";
import { fetchThrough, publicFetch } from "../http/undici-fetch.ts";
import { printableUrl } from "../http/url.ts";
import { publishKeySetEvent } from "./events.ts";
import type { RemoteSettings } from "./options.ts";

/** Counters of one document since it was first asked for. */
export interface FetchCounters {
  /** HTTP requests sent, of every kind. */
  readonly requests: number;
  /** Answers that brought a document. */
  readonly updated: number;
  /** Answers that said the stored document is still current. */
  readonly notModified: number;
  /** Answers that arrived after a newer one, and were left. */
  readonly superseded: number;
  /** Answers from a cache on the way, made before the document that is stored, and left: by `Age`, on our own clocks. */
  readonly older: number;
  /** Fetches that failed, or whose answer could not be used. */
  readonly failed: number;
  /** Fetches past every cache, for an unknown `kid`. */
  readonly forced: number;
  /** Unknown `kid`s, and first requests of a client's set that was dropped, that were turned away without a request. */
  readonly throttled: number;
}

export interface RemoteResource<T> {
  readonly resource: CachedResource<T>;
  counters(): FetchCounters;
}

/** A cached document by a caller's settings, counted and published on the channel. */
export function createRemoteResource<T>(
  url: URL,
  settings: RemoteSettings,
  document: { readonly accept: string; readonly parse: (body: Uint8Array) => T },
  limits: FetchLimits = fetchLimits(settings),
): RemoteResource<T> {
  const { instant } = settings;
  const counts = {
    requests: 0,
    updated: 0,
    notModified: 0,
    superseded: 0,
    older: 0,
    failed: 0,
    forced: 0,
    throttled: 0,
  };

  const onFetch = ({ reason, outcome, durationMs, error }: FetchRecord): void => {
    if (reason === "forced") counts.forced += 1;
    counts[outcome === "not_modified" ? "notModified" : outcome] += 1;
    publishKeySetEvent(() => ({
      url: printableUrl(url),
      reason,
      outcome,
      durationMs,
      code: error?.code,
      status: error?.status,
    }));
  };
  const onThrottled = (code: KeySetErrorCode): void => {
    counts.throttled += 1;
    publishKeySetEvent(() => ({
      url: printableUrl(url),
      reason: "throttled",
      outcome: "refused",
      durationMs: 0,
      code,
      status: undefined,
    }));
  };

  const resource = createCachedResource({
    requester: {
      url,
      limits: settings,
      loadFetch: fetchLoader(settings),
      accept: document.accept,
      instant,
      onRequest: () => {
        counts.requests += 1;
      },
    },
    rules: settings,
    revalidateWith: settings.revalidateWith,
    parse: (body) => naming(url, () => document.parse(body)),
    limits,
    // As often as an answer is asked for that is stale on arrival.
    firstIntervalMs: settings.minRevalidateIntervalMs,
    failureMemoryMs: settings.failureMemoryMs,
    onFetch,
    onThrottled,
  });
  return { resource, counters: () => ({ ...counts }) };
}

/** What is wrong with an answer, and where it came from. */
function naming<T>(url: URL, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof KeySetError)) throw error;
    throw new KeySetError(error.code, `${printableUrl(url)}: ${error.message}`, { cause: error });
  }
}

/** New ones, which hold nothing back yet. */
export function fetchLimits(settings: RemoteSettings): FetchLimits {
  return createFetchLimits(
    createThrottle({
      burst: settings.forcedRefetchBurst,
      intervalMs: settings.forcedRefetchIntervalMs,
      instant: settings.instant,
    }),
  );
}

function fetchLoader({ fetch, dispatcher, publicAddressesOnly }: RemoteSettings): () => Promise<FetchLike> {
  if (fetch !== undefined) return async () => fetch;
  return publicAddressesOnly ? publicFetch() : fetchThrough(dispatcher);
}
