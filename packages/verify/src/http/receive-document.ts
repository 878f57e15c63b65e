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
  /** When its server made it, as far as we know. A 304 from an older copy, or the same bytes, changes its freshness alone. */
  readonly madeAt: Birth;
}

/** What an answer makes of the document. */
export interface Received<T> {
  readonly next: Stored<T>;
  /** By a 304 or its like. */
  readonly unchanged: boolean;
}

/** How an answer is asked for and read. */
export interface Reading<T> {
  readonly url: URL;
  /** What was stored when the request began: a 304 is about it. */
  readonly base: Stored<T> | undefined;
  /** What is stored now. */
  readonly stored: () => Stored<T> | undefined;
  /** No cache on the way may answer. */
  readonly pastCaches: boolean;
  readonly revalidateWith: "get" | "head";
  readonly parse: (body: Uint8Array) => T;
  readonly rules: FreshnessRules;
  readonly instant: () => ClockReading;
}

/**
 * Asks for a document and reads the answer. A copy that a cache made before the stored document is none: the server is asked past
 * the caches.
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
  // The same bytes again say what a 304 says.
  const stored = reading.stored();
  const same = notModified ?? (isSameBody(stored, http.body) ? stored : undefined);
  if (same === undefined) {
    const { body } = http;
    return { next: { value: reading.parse(body), body, headers, freshness, madeAt: freshness }, unchanged };
  }
  const madeAt = isMadeBefore(freshness, same.madeAt) ? same.madeAt : freshness;
  return { next: { value: same.value, body: same.body, headers, freshness, madeAt }, unchanged };
}

/** Whether a cache on the way made this answer before the stored document was made. */
export function isOlderCopy<T>({ next, unchanged }: Received<T>, stored: Stored<T> | undefined): boolean {
  if (stored === undefined || unchanged || isSameBody(stored, next.body)) return false;
  return isMadeBefore(next.freshness, stored.madeAt);
}

function isSameBody<T>(stored: Stored<T> | undefined, body: Uint8Array): boolean {
  return stored !== undefined && Buffer.compare(stored.body, body) === 0;
}
