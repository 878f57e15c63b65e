import { elapsedMs } from "@signpost/core/adapter";
import type { Instant } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import { abortable } from "./abortable.ts";
import type { Freshness, FreshnessRules, HeaderMap } from "./freshness.ts";
import { freshnessOf, headersAfter304 } from "./freshness.ts";
import type { HttpAnswer, Requester } from "./request.ts";
import { sendRequest } from "./request.ts";
import type { Throttle } from "./throttle.ts";

/**
 * Why a request was sent: nothing was stored (`first`), what was stored is stale (`revalidate`), an unknown `kid` (`forced`), or
 * the caller asked for it (`refresh`).
 */
export type FetchReason = "first" | "revalidate" | "forced" | "refresh";

/** What came of it: a document, a 304, an answer that a newer one had overtaken, or nothing. */
export type FetchOutcome = "updated" | "not_modified" | "superseded" | "failed";

export interface FetchRecord {
  readonly reason: FetchReason;
  readonly outcome: FetchOutcome;
  readonly durationMs: number;
  readonly error: KeySetError | undefined;
}

/** A parsed document and what HTTP says about it. */
export interface Stored<T> {
  readonly value: T;
  readonly headers: HeaderMap;
  readonly freshness: Freshness;
}

export interface CachedResourceOptions<T> {
  readonly requester: Requester;
  readonly rules: FreshnessRules;
  readonly revalidateWith: "get" | "head";
  /** Throws a `KeySetError` for a body that must not be stored. */
  readonly parse: (body: Uint8Array) => T;
  readonly throttle: Throttle;
  /** How long a failure is answered from memory, unless `Retry-After` asks for longer. */
  readonly failureMemoryMs: number;
  readonly onFetch: (record: FetchRecord) => void;
  readonly onThrottled: () => void;
}

export type Newer<T> =
  | {
      readonly stored: Stored<T>;
      /** It came straight from the server: asking again cannot help. */
      readonly bypassedCaches: boolean;
    }
  | { readonly throttledForMs: number };

export interface CachedResource<T> {
  /** The document, as fresh as its caching headers demand. */
  current(signal?: AbortSignal): Promise<Stored<T>>;
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
  const { requester, throttle } = options;
  const { instant } = requester;
  let stored: Stored<T> | undefined;
  let flight: { readonly reason: FetchReason; readonly done: Promise<Stored<T>> } | undefined;
  let failure: { readonly error: KeySetError; readonly since: Instant; readonly forMs: number } | undefined;
  let startedCount = 0;
  let appliedNumber = 0;

  function start(reason: FetchReason): Promise<Stored<T>> {
    startedCount += 1;
    const done = run(reason, startedCount, stored);
    const mine = { reason, done };
    flight = mine;
    const land = (): void => {
      if (flight === mine) flight = undefined;
    };
    done.then(land, land);
    return done;
  }

  async function run(reason: FetchReason, number: number, base: Stored<T> | undefined): Promise<Stored<T>> {
    const startedAt = instant().monotonic;
    const report = (outcome: FetchOutcome, error?: KeySetError): void =>
      options.onFetch({ reason, outcome, durationMs: instant().monotonic - startedAt, error });
    try {
      const answer = await request(reason, base);
      const next: Stored<T> =
        answer.base === undefined
          ? await storedFrom(options.parse(answer.http.body), answer.http.headers, answer.http.requestedAt)
          : await storedFrom(
              answer.base.value,
              headersAfter304(answer.base.headers, answer.http.headers),
              answer.http.requestedAt,
            );
      // An answer to an older request, or about a document that is no longer the stored one, came too late.
      if (stored !== undefined && (number < appliedNumber || (answer.base !== undefined && answer.base !== stored))) {
        report("superseded");
        return stored;
      }
      appliedNumber = number;
      stored = next;
      failure = undefined;
      report(answer.base === undefined ? "updated" : "not_modified");
      return next;
    } catch (thrown) {
      const error =
        thrown instanceof KeySetError
          ? thrown
          : new KeySetError("invalid_jwks", "the answer could not be read", { cause: thrown });
      if (number > appliedNumber) {
        const forMs = Math.max(options.failureMemoryMs, error.retryAfterMs ?? 0);
        failure = { error, since: instant(), forMs };
      }
      report("failed", error);
      throw error;
    }
  }

  async function storedFrom(value: T, headers: HeaderMap, requestedAt: Instant): Promise<Stored<T>> {
    const times = { requestedAt, receivedAt: instant() };
    return { value, headers, freshness: await freshnessOf(headers, times, options.rules) };
  }

  function send(method: "GET" | "HEAD", headers: Record<string, string>): Promise<HttpAnswer> {
    return sendRequest(requester, method, headers);
  }

  /** `base` in the result is the stored document that the answer says is still the current one. */
  async function request(
    reason: FetchReason,
    base: Stored<T> | undefined,
  ): Promise<{ http: HttpAnswer; base?: Stored<T> }> {
    if (reason === "forced" || reason === "refresh") return unconditional("no-cache");
    if (base === undefined) return unconditional(undefined);
    const etag = base.headers["etag"];
    if (etag === undefined) return unconditional("max-age=0");
    const conditional = { "if-none-match": etag, "cache-control": "max-age=0" };
    if (options.revalidateWith === "head") {
      const head = await send("HEAD", conditional).catch((error: unknown) => {
        if (error instanceof KeySetError && (error.status === 405 || error.status === 501)) return undefined;
        throw error;
      });
      if (head !== undefined) {
        const unchanged = head.status === 304 ? isAbout(head, etag) : head.headers["etag"] === etag;
        return unchanged ? { http: head, base } : unconditional("max-age=0");
      }
    }
    const http = await send("GET", conditional);
    if (http.status === 200) return { http };
    // A 304 that names another document than the one that was asked about says nothing.
    return isAbout(http, etag) ? { http, base } : unconditional("no-cache");
  }

  async function unconditional(cacheControl: string | undefined): Promise<{ http: HttpAnswer }> {
    const http = await send("GET", cacheControl === undefined ? {} : { "cache-control": cacheControl });
    if (http.status === 200) return { http };
    // A 304 without a condition comes from a cache that lost its way: ask past it, once.
    const again = cacheControl === "no-cache" ? http : await send("GET", { "cache-control": "no-cache" });
    if (again.status === 200) return { http: again };
    throw new KeySetError("http_status", "the server answered 304 to a request without a condition", { status: 304 });
  }

  /** What the stale limits leave of a document whose refresh failed. */
  function staleOrThrow(error: KeySetError): Stored<T> {
    if (stored !== undefined && storedForMs() < stored.freshness.staleIfErrorForMs) return stored;
    throw error;
  }

  function storedForMs(): number {
    return stored === undefined ? Number.POSITIVE_INFINITY : elapsedMs(stored.freshness.receivedAt, instant());
  }

  function remembered(): KeySetError | undefined {
    if (failure === undefined) return undefined;
    const { error, since, forMs } = failure;
    const retryAfterMs = forMs - elapsedMs(since, instant());
    if (retryAfterMs <= 0) return undefined;
    return new KeySetError(error.code, error.message, { cause: error, status: error.status, retryAfterMs });
  }

  return {
    async current(signal) {
      const elapsed = storedForMs();
      if (stored !== undefined && elapsed < stored.freshness.freshForMs) return stored;
      const known = remembered();
      if (stored !== undefined && elapsed < stored.freshness.staleWhileRevalidateForMs) {
        // Its failure is reported and remembered by the run itself.
        if (flight === undefined && known === undefined) start("revalidate").catch(() => {});
        return stored;
      }
      if (flight === undefined && known !== undefined) return staleOrThrow(known);
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
      if (flight !== undefined) {
        const { reason, done } = flight;
        return { stored: await abortable(done, signal), bypassedCaches: reason === "forced" || reason === "refresh" };
      }
      const known = remembered();
      if (known !== undefined) throw known;
      const throttledForMs = throttle.take();
      if (throttledForMs > 0) {
        options.onThrottled();
        return { throttledForMs };
      }
      return { stored: await abortable(start("forced"), signal), bypassedCaches: true };
    },

    refresh: (signal) => abortable(start("refresh"), signal),
    peek: () => stored,
  };
}

/** Whether a 304 is about the stored document: it names none, or the same opaque tag (RFC 9110 section 8.8.3.2). */
function isAbout(notModified: HttpAnswer, etag: string): boolean {
  const named = notModified.headers["etag"];
  return named === undefined || opaqueTag(named) === opaqueTag(etag);
}

function opaqueTag(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : etag;
}
