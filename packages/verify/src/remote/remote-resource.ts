import type { KeySetErrorCode } from "../errors.ts";
import { KeySetError } from "../errors.ts";
import type { CachedResource, FetchRecord } from "../http/cached-resource.ts";
import { createCachedResource } from "../http/cached-resource.ts";
import { defaultFetch } from "../http/default-fetch.ts";
import type { FetchLimits } from "../http/fetch-limits.ts";
import { createFetchLimits } from "../http/fetch-limits.ts";
import type { FetchLike } from "../http/request.ts";
import { createThrottle } from "../http/throttle.ts";
import { fetchThrough, publicFetch } from "../http/undici-fetch.ts";
import { printableUrl } from "../http/url.ts";
import { publishKeySetEvent } from "./events.ts";
import type { RemoteSettings } from "./options.ts";

/** Counters for one document since its first request. */
export interface FetchCounters {
  /** HTTP requests of every kind. */
  readonly requests: number;
  /** Answers with a document. */
  readonly updated: number;
  /** Answers that confirmed the stored document. */
  readonly notModified: number;
  /** Answers that arrived after a newer one, and were ignored. */
  readonly superseded: number;
  /** Answers from a cache that are older than the stored document, and were ignored. Measured by `Age`, on our own clocks. */
  readonly older: number;
  /** Fetches that failed, or that returned an unusable answer. */
  readonly failed: number;
  /** Fetches for an unknown `kid`. They bypass every cache. */
  readonly forced: number;
  /** Calls that were refused without a request: for an unknown `kid`, or for the first request of a client's set after a drop. */
  readonly throttled: number;
}

export interface RemoteResource<T> {
  readonly resource: CachedResource<T>;
  counters(): FetchCounters;
}

/** A cached document with the caller's settings. Its fetches are counted and published on the channel. */
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
      host: settings.hosts.of(url.origin),
      onRequest: () => {
        counts.requests += 1;
      },
    },
    rules: settings,
    revalidateWith: settings.revalidateWith,
    parse: (body) => naming(url, () => document.parse(body)),
    limits,
    // The same interval as for an answer that is stale on arrival.
    firstIntervalMs: settings.minRevalidateIntervalMs,
    failureMemoryMs: settings.failureMemoryMs,
    onFetch,
    onThrottled,
  });
  return { resource, counters: () => ({ ...counts }) };
}

/** Adds the URL to the error of an unusable answer. */
function naming<T>(url: URL, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof KeySetError)) throw error;
    throw new KeySetError(error.code, `${printableUrl(url)}: ${error.message}`, { cause: error });
  }
}

/** New limits, without earlier requests. */
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
  if (publicAddressesOnly) return publicFetch();
  return dispatcher === undefined ? defaultFetch() : fetchThrough(dispatcher);
}
