import { elapsedMs, wasFrozen } from "@signpost/core/adapter";
import type { Instant } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import { abortable } from "./abortable.ts";
import type { FetchLimits } from "./fetch-limits.ts";
import type { FreshnessRules } from "./freshness.ts";
import type { Received, Stored } from "./receive-document.ts";
import { isOlderCopy, receiveDocument } from "./receive-document.ts";
import type { Requester } from "./request.ts";
import { withRequests } from "./request.ts";
import { printableUrl } from "./url.ts";

/**
 * Why a request was sent: nothing was stored (`first`), what was stored is stale (`revalidate`), an unknown `kid` (`forced`), or
 * the caller asked for it (`refresh`).
 */
export type FetchReason = "first" | "revalidate" | "forced" | "refresh";

/**
 * The result: a document (`updated`), a 304 (`not_modified`), an answer that arrived after a newer one (`superseded`), a cached copy
 * older than the stored document (`older`), or no usable answer (`failed`).
 */
export type FetchOutcome = "updated" | "not_modified" | "superseded" | "older" | "failed";

export interface FetchRecord {
  readonly reason: FetchReason;
  readonly outcome: FetchOutcome;
  readonly durationMs: number;
  readonly error: KeySetError | undefined;
}

interface Flight<T> {
  readonly reason: FetchReason;
  readonly done: Promise<Stored<T>>;
  readonly startedAt: Instant;
}

/** After this many timeouts, a fetch that no timer has ended is lost. More than one, because the HTTP client loads first. */
const SLEPT_THROUGH_TIMEOUTS = 2;

export interface CachedResourceOptions<T> {
  readonly requester: Requester;
  readonly rules: FreshnessRules;
  readonly revalidateWith: "get" | "head";
  /** Throws a `KeySetError` if the body must not be stored. */
  readonly parse: (body: Uint8Array) => T;
  /** Shared by this document and earlier ones of the same URL. */
  readonly limits: FetchLimits;
  /** How long the first request must wait if an earlier document of the same URL was dropped. */
  readonly firstIntervalMs: number;
  /** How long a failure is returned from memory. `Retry-After` can make it longer. */
  readonly failureMemoryMs: number;
  readonly onFetch: (record: FetchRecord) => void;
  readonly onThrottled: (code: "unknown_kid" | "throttled") => void;
}

export type Newer<T> =
  | {
      readonly stored: Stored<T>;
      /** It came directly from the server, so another request cannot help. */
      readonly bypassedCaches: boolean;
    }
  | { readonly throttledForMs: number };

/** `failing`: the last request failed. */
export type MayBeStale = (state: { readonly failing: boolean }) => boolean;

export interface CachedResource<T> {
  /**
   * The document, as fresh as its caching headers require. If the caller would have to wait although the stale limits allow the
   * stored document, `mayBeStale` is called. If it returns true, the stored document is returned and refreshed in the background.
   */
  current(signal?: AbortSignal, mayBeStale?: MayBeStale): Promise<Stored<T>>;
  /**
   * A document newer than `seen`: already stored, in flight, or from one shared refetch that bypasses every cache. Returns
   * `throttledForMs` if another refetch must not be sent yet. Rejects with the error of the last request if that one failed.
   */
  newerThan(seen: Stored<T>, signal?: AbortSignal): Promise<Newer<T>>;
  /** A separate request that bypasses every cache, even if another one is in flight. */
  refresh(signal?: AbortSignal): Promise<Stored<T>>;
  /** The stored document, however old. */
  peek(): Stored<T> | undefined;
}

/** The document of one URL, cached by RFC 9111 and RFC 5861. It has no timers. Every call reads the clock. */
export function createCachedResource<T>(options: CachedResourceOptions<T>): CachedResource<T> {
  const { requester, limits } = options;
  const { instant } = requester;
  const reading = {
    url: requester.url,
    parse: options.parse,
    rules: options.rules,
    instant,
  };
  let stored: Stored<T> | undefined;
  let { revalidateWith } = options;
  let newest: Flight<T> | undefined;
  let startedCount = 0;
  let appliedNumber = 0;

  function start(reason: FetchReason): Promise<Stored<T>> {
    startedCount += 1;
    if (reason === "first") limits.firstSentAt = instant();
    const done = run(reason, startedCount, stored);
    const mine = { reason, done, startedAt: instant() };
    newest = mine;
    const land = (): void => {
      if (newest === mine) newest = undefined;
    };
    done.then(land, land);
    return done;
  }

  /** The request in flight. After the machine slept there is none: its connection is gone, but no timer has fired yet. */
  function underway(): Flight<T> | undefined {
    const longestMs = SLEPT_THROUGH_TIMEOUTS * requester.limits.timeoutMs;
    return newest !== undefined && elapsedMs(newest.startedAt, instant()) <= longestMs ? newest : undefined;
  }

  async function run(reason: FetchReason, number: number, base: Stored<T> | undefined): Promise<Stored<T>> {
    const startedAt = instant();
    const report = (outcome: FetchOutcome, error?: KeySetError): void =>
      options.onFetch({ reason, outcome, durationMs: instant().monotonic - startedAt.monotonic, error });
    const failed = (outcome: FetchOutcome, error: KeySetError): KeySetError => {
      report(outcome, error);
      if (number <= appliedNumber) return error;
      const forMs = Math.max(options.failureMemoryMs, error.retryAfterMs ?? 0);
      limits.failure = { error, since: instant(), forMs };
      limits.firstSentAt = undefined;
      // The server may ask for less time than the failure is remembered.
      const nextMs = reason === "forced" && isFresh() ? limits.throttle.waitMs() : 0;
      return retriedAfter(error, Math.max(forMs, nextMs));
    };
    let received: Received<T>;
    try {
      const pastCaches = reason === "forced" || reason === "refresh";
      received = await withRequests(
        requester,
        (send) => receiveDocument(send, { base, stored: () => stored, pastCaches, revalidateWith, ...reading }),
        { mayBeDead: requester.host.mayBeDead() || wasFrozen(base?.freshness.receivedAt ?? startedAt, startedAt) },
      );
    } catch (thrown) {
      const error = asKeySetError(requester.url, thrown);
      // A HEAD request that is never answered leaves no time for the GET, so every revalidation would fail.
      if (error.code === "timeout") revalidateWith = "get";
      throw failed("failed", error);
    }
    const { next, unchanged } = received;
    // Too late: an answer to an older request, or a 304 about a document that is no longer stored.
    if (stored !== undefined && (number < appliedNumber || (unchanged && base !== stored))) {
      report("superseded");
      return stored;
    }
    if (stored !== undefined && isOlderCopy(received, stored)) {
      // The stored document is newer. It stays as long as its own headers say, because an older copy proves nothing about it.
      if (!isFresh()) throw failed("older", olderCopy(requester.url));
      report("older");
      return stored;
    }
    appliedNumber = number;
    stored = next;
    limits.failure = undefined;
    report(unchanged ? "not_modified" : "updated");
    return next;
  }

  /** After a failed refresh: the stored document if its stale limits allow it. Otherwise throws the error. */
  function staleOrThrow(error: KeySetError): Stored<T> {
    if (stored !== undefined && storedForMs() < stored.freshness.staleIfErrorForMs) return stored;
    throw error;
  }

  function isFresh(): boolean {
    return stored !== undefined && storedForMs() < stored.freshness.freshForMs;
  }

  function storedForMs(): number {
    return stored === undefined ? Number.POSITIVE_INFINITY : elapsedMs(stored.freshness.receivedAt, instant());
  }

  /** Whether a stale document is returned before its refresh ends. */
  function answersBefore({ freshness }: Stored<T>, mayBeStale: MayBeStale = () => false): boolean {
    const elapsed = storedForMs();
    if (elapsed < freshness.staleWhileRevalidateForMs) return true;
    if (elapsed >= freshness.staleIfErrorForMs) return false;
    return (
      mayBeStale({ failing: limits.failure !== undefined }) || (options.rules.staleWhileRevalidate && failedJustNow())
    );
  }

  /** If a server hangs, callers wait once, and not again each time the remembered failure expires. */
  function failedJustNow(): boolean {
    if (limits.failure === undefined) return false;
    const { since, forMs } = limits.failure;
    return elapsedMs(since, instant()) < forMs + requester.limits.timeoutMs;
  }

  /** `nextMs`: how long the next request must wait for another reason. */
  function remembered(nextMs: number = 0): KeySetError | undefined {
    if (limits.failure === undefined) return undefined;
    const { error, since, forMs } = limits.failure;
    const retryAfterMs = forMs - elapsedMs(since, instant());
    return retryAfterMs <= 0 ? undefined : repeated(error, Math.max(retryAfterMs, nextMs));
  }

  /** Dropping documents to make room must not cause one fetch after another for the same URL. */
  function requireFirst(): void {
    // After its first request, the result of that request decides.
    if (startedCount > 0 || limits.firstSentAt === undefined) return;
    const retryAfterMs = options.firstIntervalMs - elapsedMs(limits.firstSentAt, instant());
    if (retryAfterMs <= 0) return;
    options.onThrottled("throttled");
    const message = `${printableUrl(requester.url)} was fetched recently, and its answer was dropped to make room for others`;
    throw new KeySetError("throttled", message, { retryAfterMs });
  }

  return {
    async current(signal, mayBeStale) {
      if (stored !== undefined && isFresh()) return stored;
      const known = remembered();
      const flight = underway();
      if (stored !== undefined && answersBefore(stored, mayBeStale)) {
        // `run` reports and remembers a failure.
        if (flight === undefined && known === undefined) start("revalidate").catch(() => {});
        return stored;
      }
      if (flight === undefined && known !== undefined) return staleOrThrow(known);
      if (flight === undefined) requireFirst();
      const done = flight?.done ?? start(stored === undefined ? "first" : "revalidate");
      try {
        return await abortable(done, signal);
      } catch (error) {
        if (error instanceof KeySetError && error.code !== "aborted") return staleOrThrow(error);
        throw error;
      }
    },

    async newerThan(seen, signal) {
      if (stored !== undefined && stored !== seen) return { stored, bypassedCaches: false };
      const flight = underway();
      if (flight !== undefined) {
        const { reason, done } = flight;
        return { stored: await abortable(done, signal), bypassedCaches: reason === "forced" || reason === "refresh" };
      }
      // While the stored document is fresh, only a forced refetch can bring a newer one.
      const known = remembered(isFresh() ? limits.throttle.waitMs() : 0);
      if (known !== undefined) throw known;
      const throttledForMs = limits.throttle.take();
      if (throttledForMs > 0) {
        options.onThrottled("unknown_kid");
        // The refetch got no usable answer. So the network is at fault, and not the token.
        if (limits.failure !== undefined) throw repeated(limits.failure.error, throttledForMs);
        return { throttledForMs };
      }
      return { stored: await abortable(start("forced"), signal), bypassedCaches: true };
    },

    refresh: (signal) => abortable(start("refresh"), signal),
    peek: () => stored,
  };
}

/** The same error, with the time until the next request may be sent. */
function retriedAfter({ code, message, status, cause }: KeySetError, retryAfterMs: number): KeySetError {
  return new KeySetError(code, message, { ...(cause === undefined ? {} : { cause }), status, retryAfterMs });
}

function repeated(error: KeySetError, retryAfterMs: number): KeySetError {
  return new KeySetError(error.code, error.message, { cause: error, status: error.status, retryAfterMs });
}

function asKeySetError(url: URL, thrown: unknown): KeySetError {
  if (thrown instanceof KeySetError) return thrown;
  return new KeySetError("invalid_jwks", `${printableUrl(url)}: the answer could not be read`, { cause: thrown });
}

function olderCopy(url: URL): KeySetError {
  const message = `${printableUrl(url)} answered from a cache, with a copy that is older than the stored document`;
  return new KeySetError("fetch_failed", message);
}
