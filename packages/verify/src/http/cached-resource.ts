import { elapsedMs } from "@signpost/core/adapter";
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
 * What came of it: a document, a 304, an answer that a newer one had overtaken, an answer that a cache on the way made before the
 * stored one, or nothing.
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

/** Of a fetch that no timer has ended: more than its timeout, since loading what fetches comes first. */
const SLEPT_THROUGH_TIMEOUTS = 2;

export interface CachedResourceOptions<T> {
  readonly requester: Requester;
  readonly rules: FreshnessRules;
  readonly revalidateWith: "get" | "head";
  /** Throws a `KeySetError` for a body that must not be stored. */
  readonly parse: (body: Uint8Array) => T;
  /** Of this document, and of those for the same URL before it. */
  readonly limits: FetchLimits;
  /** How long the first request waits where one for the same URL was sent before, whose document was dropped. */
  readonly firstIntervalMs: number;
  /** How long a failure is answered from memory, unless `Retry-After` asks for longer. */
  readonly failureMemoryMs: number;
  readonly onFetch: (record: FetchRecord) => void;
  readonly onThrottled: (code: "unknown_kid" | "throttled") => void;
}

export type Newer<T> =
  | {
      readonly stored: Stored<T>;
      /** It came straight from the server: asking again cannot help. */
      readonly bypassedCaches: boolean;
    }
  | { readonly throttledForMs: number };

/** `failing`: the last request failed. */
export type MayBeStale = (state: { readonly failing: boolean }) => boolean;

export interface CachedResource<T> {
  /**
   * The document, as fresh as its caching headers demand. `mayBeStale` is asked where it has to be waited for, though its stale
   * limits would allow it: true answers from it, and refreshes it behind.
   */
  current(signal?: AbortSignal, mayBeStale?: MayBeStale): Promise<Stored<T>>;
  /**
   * A document newer than `seen`: one already here, or on its way, or by one shared refetch that bypasses
   * every cache. `throttledForMs` where another must not be sent yet.
   */
  newerThan(seen: Stored<T>, signal?: AbortSignal): Promise<Newer<T>>;
  /** A request of its own, bypassing every cache, whatever else is known or under way. */
  refresh(signal?: AbortSignal): Promise<Stored<T>>;
  /** What is stored, however old. */
  peek(): Stored<T> | undefined;
}

/** One document behind one URL, cached as RFC 9111 and RFC 5861 say. No timers: time passes only in use. */
export function createCachedResource<T>(options: CachedResourceOptions<T>): CachedResource<T> {
  const { requester, limits } = options;
  const { instant } = requester;
  const reading = {
    url: requester.url,
    revalidateWith: options.revalidateWith,
    parse: options.parse,
    rules: options.rules,
    instant,
  };
  let stored: Stored<T> | undefined;
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

  /** What is on its way. After the machine slept that is nothing: its connection is gone, which no timer has noticed yet. */
  function underway(): Flight<T> | undefined {
    const longestMs = SLEPT_THROUGH_TIMEOUTS * requester.limits.timeoutMs;
    return newest !== undefined && elapsedMs(newest.startedAt, instant()) <= longestMs ? newest : undefined;
  }

  async function run(reason: FetchReason, number: number, base: Stored<T> | undefined): Promise<Stored<T>> {
    const startedAt = instant().monotonic;
    const report = (outcome: FetchOutcome, error?: KeySetError): void =>
      options.onFetch({ reason, outcome, durationMs: instant().monotonic - startedAt, error });
    const failed = (outcome: FetchOutcome, error: KeySetError): KeySetError => {
      if (number > appliedNumber) {
        const forMs = Math.max(options.failureMemoryMs, error.retryAfterMs ?? 0);
        limits.failure = { error, since: instant(), forMs };
        limits.firstSentAt = undefined;
      }
      report(outcome, error);
      return error;
    };
    let received: Received<T>;
    try {
      const pastCaches = reason === "forced" || reason === "refresh";
      received = await withRequests(requester, (send) =>
        receiveDocument(send, { base, stored: () => stored, pastCaches, ...reading }),
      );
    } catch (thrown) {
      throw failed("failed", asKeySetError(requester.url, thrown));
    }
    const { next, unchanged } = received;
    // An answer to an older request, or about a document that is no longer the stored one, came too late.
    if (stored !== undefined && (number < appliedNumber || (unchanged && base !== stored))) {
      report("superseded");
      return stored;
    }
    if (stored !== undefined && isOlderCopy(received, stored)) {
      // The stored one is newer, and stays as long as its own headers say: the copy of another one proves nothing about it.
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

  /** What the stale limits leave of a document whose refresh failed. */
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

  /** Whether a stale document is used before its refresh ends. */
  function answersBefore({ freshness }: Stored<T>, mayBeStale: MayBeStale = () => false): boolean {
    const elapsed = storedForMs();
    if (elapsed < freshness.staleWhileRevalidateForMs) return true;
    if (elapsed >= freshness.staleIfErrorForMs) return false;
    return (
      mayBeStale({ failing: limits.failure !== undefined }) || (options.rules.staleWhileRevalidate && failedJustNow())
    );
  }

  /** So that a server that hangs makes callers wait once, not each time that the memory of its failure is over. */
  function failedJustNow(): boolean {
    if (limits.failure === undefined) return false;
    const { since, forMs } = limits.failure;
    return elapsedMs(since, instant()) < forMs + requester.limits.timeoutMs;
  }

  function remembered(): KeySetError | undefined {
    if (limits.failure === undefined) return undefined;
    const { error, since, forMs } = limits.failure;
    const retryAfterMs = forMs - elapsedMs(since, instant());
    if (retryAfterMs <= 0) return undefined;
    return new KeySetError(error.code, error.message, { cause: error, status: error.status, retryAfterMs });
  }

  /** Where documents are dropped to make room, fetching each of them again and again must not be what that costs. */
  function requireFirst(): void {
    // After one of its own, this document goes by what came of that.
    if (startedCount > 0 || limits.firstSentAt === undefined) return;
    const retryAfterMs = options.firstIntervalMs - elapsedMs(limits.firstSentAt, instant());
    if (retryAfterMs <= 0) return;
    options.onThrottled("throttled");
    const message = `${printableUrl(requester.url)} was asked a moment ago, and what it answered had to make room`;
    throw new KeySetError("throttled", message, { retryAfterMs });
  }

  return {
    async current(signal, mayBeStale) {
      if (stored !== undefined && isFresh()) return stored;
      const known = remembered();
      const flight = underway();
      if (stored !== undefined && answersBefore(stored, mayBeStale)) {
        // Its failure is reported and remembered by the run itself.
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
      const known = remembered();
      if (known !== undefined) throw known;
      const throttledForMs = limits.throttle.take();
      if (throttledForMs > 0) {
        options.onThrottled("unknown_kid");
        return { throttledForMs };
      }
      return { stored: await abortable(start("forced"), signal), bypassedCaches: true };
    },

    refresh: (signal) => abortable(start("refresh"), signal),
    peek: () => stored,
  };
}

function asKeySetError(url: URL, thrown: unknown): KeySetError {
  if (thrown instanceof KeySetError) return thrown;
  return new KeySetError("invalid_jwks", `${printableUrl(url)}: the answer could not be read`, { cause: thrown });
}

function olderCopy(url: URL): KeySetError {
  const message = `${printableUrl(url)} answered from a cache, with a copy that is older than what is stored`;
  return new KeySetError("fetch_failed", message);
}
