import type { ClockReading } from "./clock-reading.ts";
import { requestDocument } from "./document-request.ts";
import type { Birth, Freshness, FreshnessRules, HeaderMap } from "./freshness.ts";
import { freshnessOf, headersAfter304, isMadeBefore } from "./freshness.ts";
import type { Send } from "./request.ts";

/** A parsed document and what HTTP says about it. */
export interface Stored<T> {
  readonly value: T;
  readonly body: Uint8Array;
  readonly headers: HeaderMap;
  readonly freshness: Freshness;
  /** When the server made it. A 304 from an older copy, or the same bytes, changes only its freshness. */
  readonly madeAt: Birth;
}

/** The document after an answer. */
export interface Received<T> {
  readonly next: Stored<T>;
  /** The answer was a 304, or a HEAD answer with the same ETag. */
  readonly unchanged: boolean;
}

/** How a document is requested and read. */
export interface Reading<T> {
  readonly url: URL;
  /** The document that was stored when the request began. A 304 is about this one. */
  readonly base: Stored<T> | undefined;
  /** The document that is stored now. */
  readonly stored: () => Stored<T> | undefined;
  /** Caches must not answer. */
  readonly pastCaches: boolean;
  readonly revalidateWith: "get" | "head";
  readonly parse: (body: Uint8Array) => T;
  readonly rules: FreshnessRules;
  readonly instant: () => ClockReading;
}

/**
 * Requests a document and reads the answer. If a cache returns a copy that is older than the stored document, sends a second request
 * that bypasses the caches.
 */
export async function receiveDocument<T>(send: Send, reading: Reading<T>): Promise<Received<T>> {
  const received = await ask(send, reading, reading.pastCaches);
  const isUseless = !reading.pastCaches && isOlderCopy(received, reading.stored());
  return isUseless ? ask(send, reading, true) : received;
}

async function ask<T>(send: Send, reading: Reading<T>, pastCaches: boolean): Promise<Received<T>> {
  const { url, base, revalidateWith } = reading;
  const { http, unchanged } = await requestDocument(send, {
    url,
    etag: base?.headers["etag"],
    revalidates: base !== undefined,
    pastCaches,
    revalidateWith,
  });
  const notModified = unchanged ? base : undefined;
  const headers = notModified === undefined ? http.headers : headersAfter304(notModified.headers, http.headers);
  const times = { requestedAt: http.requestedAt, receivedAt: reading.instant() };
  const freshness = await freshnessOf(headers, times, reading.rules);
  // The same bytes mean the same as a 304.
  const stored = reading.stored();
  const same = notModified ?? (isSameBody(stored, http.body) ? stored : undefined);
  if (same === undefined) {
    const { body } = http;
    return { next: { value: reading.parse(body), body, headers, freshness, madeAt: freshness }, unchanged };
  }
  const madeAt = isMadeBefore(freshness, same.madeAt) ? same.madeAt : freshness;
  return { next: { value: same.value, body: same.body, headers, freshness, madeAt }, unchanged };
}

/** Whether this answer is a cached copy that is older than the stored document. */
export function isOlderCopy<T>({ next, unchanged }: Received<T>, stored: Stored<T> | undefined): boolean {
  if (stored === undefined || unchanged || isSameBody(stored, next.body)) return false;
  return isMadeBefore(next.freshness, stored.madeAt);
}

function isSameBody<T>(stored: Stored<T> | undefined, body: Uint8Array): boolean {
  return stored !== undefined && Buffer.compare(stored.body, body) === 0;
}
