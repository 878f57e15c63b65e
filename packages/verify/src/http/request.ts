import { setImmediate as nextTurn } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import { memberOf, parseHttpDate, safeCause, withinDeadline } from "@signpost/core/adapter";
import type { Instant } from "@signpost/core/adapter";
import { causesOf, reasonOf } from "../causes.ts";
import { findKeySetError, KeySetError } from "../errors.ts";
import type { ClockReading } from "./clock-reading.ts";
import type { HeaderMap } from "./freshness.ts";
import type { Host } from "./hosts.ts";
import { mediaTypeOf, printableType } from "./media-type.ts";
import { onSecondConnection } from "./second-connection.ts";
import { soleValue } from "./sole-value.ts";
import { printableUrl } from "./url.ts";

/** What a `fetch` is called with. */
export interface FetchInit {
  /** `HEAD` only with `revalidateWith: "head"`. */
  readonly method: "GET" | "HEAD";
  /** The names are in lower case. */
  readonly headers: Record<string, string>;
  /** A redirect is refused and never followed. */
  readonly redirect: "manual";
  /** Aborts after `timeoutMs`. */
  readonly signal: AbortSignal;
}

/** The part of a Fetch API response that is read. */
export interface FetchResponseLike {
  /** 200 and 304 are read. Any other status is refused. */
  readonly status: number;
  /** Returns `null` if the header is missing. */
  readonly headers: { get(name: string): string | null };
  /**
   * The decompressed body, or `null`: a web stream, whose types differ between the DOM and Node, or any other iterable of bytes,
   * such as a stream of Node.
   */
  readonly body: { cancel(): Promise<unknown> } | AsyncIterable<Uint8Array> | null;
}

/** The built-in `fetch`, undici's, or any function with the same shape. */
export type FetchLike = (url: string, init: FetchInit) => Promise<FetchResponseLike>;

export interface RequestLimits {
  /** Time for connecting, waiting and reading, over all requests for one answer. */
  readonly timeoutMs: number;
  /** Limit for the decoded body. */
  readonly maxBodyBytes: number;
  readonly contentTypes: readonly string[] | "any";
}

export interface Requester {
  readonly url: URL;
  readonly limits: RequestLimits;
  /** Called before the requests. The time to load is not part of `timeoutMs`. */
  readonly loadFetch: () => Promise<FetchLike>;
  readonly accept: string;
  readonly instant: () => ClockReading;
  /** The host of the URL. */
  readonly host: Host;
  readonly onRequest: () => void;
}

export interface HttpAnswer {
  readonly status: 200 | 304;
  readonly headers: HeaderMap;
  /** Empty for HEAD and 304. */
  readonly body: Uint8Array;
  readonly requestedAt: Instant;
}

const READ_HEADERS = ["age", "cache-control", "content-type", "date", "etag", "expires", "pragma", "vary"] as const;

/** The longest Retry-After that is followed, so that a key set works again soon after its server does. */
export const MAX_RETRY_AFTER_MS = 60_000;

/** One bounded request: no redirects, only 200 or 304. Anything else is a `KeySetError`. */
export type Send = (method: "GET" | "HEAD", headers: Readonly<Record<string, string>>) => Promise<HttpAnswer>;

/**
 * Runs all requests for one answer under one time limit. Rejects with `KeySetError`, and with any other error that the work
 * throws.
 */
export async function withRequests<T>(
  requester: Requester,
  work: (send: Send) => Promise<T>,
  connections: KeptConnections = { mayBeDead: false },
): Promise<T> {
  const { url } = requester;
  const fetch = await requester.loadFetch().catch((error: unknown) => {
    throw asKeySetError(error, url);
  });
  const { timeoutMs } = requester.limits;
  const message = `${printableUrl(url)} did not answer within ${timeoutMs} ms`;
  const run = (signal: AbortSignal): Promise<T> =>
    work(async (method, headers) => {
      try {
        return await exchange(requester, fetch, { method, headers, signal, connections });
      } catch (error) {
        throw asKeySetError(error, url);
      }
    });
  return withinDeadline(run, { deadlineMs: timeoutMs, message }).catch((error: unknown) => {
    throw error instanceof SignerError && error.code === "timeout" ? asKeySetError(error, url) : error;
  });
}

/** The kept connections of the HTTP client. */
export interface KeptConnections {
  /** They may have been dropped without a word, as by a firewall while the process was frozen and no timer could close them. */
  readonly mayBeDead: boolean;
}

/** Otherwise a process that is frozen again and again would collect dead connections. */
const NOT_KEPT = { connection: "close" };

interface Exchange {
  readonly method: "GET" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly connections: KeptConnections;
}

async function exchange(
  requester: Requester,
  fetch: FetchLike,
  { method, headers, signal, connections }: Exchange,
): Promise<HttpAnswer> {
  const { url, limits } = requester;
  const requestedAt = requester.instant();
  const ask = async (signal: AbortSignal): Promise<FetchResponseLike> => {
    requester.onRequest();
    return fetch(url.href, {
      method,
      headers: { accept: requester.accept, ...headers, ...(connections.mayBeDead ? NOT_KEPT : {}) },
      redirect: "manual",
      signal,
    });
  };
  const asked = connections.mayBeDead ? onSecondConnection(ask, signal) : ask(signal);
  const answer = await asked.catch(async (error: unknown) => {
    if (signal.aborted || !wasKeptConnectionLost(error)) throw error;
    // The other kept connections are often lost too. In the next turn of the event loop, the client knows, and uses none of them.
    await nextTurn();
    return ask(signal);
  });
  requester.host.answered();
  if (answer.status !== 200 && answer.status !== 304) {
    discard(answer);
    throw refusedStatus(answer, url, requester.instant().date);
  }
  const read: Record<string, string> = {};
  // Whitespace around a value is not part of it (RFC 9110 section 5.5), but not every client removes it.
  for (const name of READ_HEADERS) {
    const value = answer.headers.get(name);
    if (value !== null) read[name] = value.trim();
  }
  if (answer.status === 304 || method === "HEAD") {
    discard(answer);
    return { status: answer.status, headers: read, body: new Uint8Array(), requestedAt };
  }
  const mediaType = mediaTypeOf(read["content-type"]);
  if (limits.contentTypes !== "any" && !limits.contentTypes.includes(mediaType)) {
    discard(answer);
    const expected = limits.contentTypes.join(" or ");
    const message = `${printableUrl(url)} answered with ${printableType(mediaType)}, expected ${expected}`;
    throw new KeySetError("unexpected_content_type", message);
  }
  return { status: 200, headers: read, body: await readBody(answer, limits.maxBodyBytes, url), requestedAt };
}

/**
 * Whether the server closed a kept connection before it answered, as a proxy does when it reloads. It may not have seen the request,
 * which is sent again once (RFC 9112 section 9.3.1). If a server closes a new connection, it did so on purpose.
 */
function wasKeptConnectionLost(error: unknown): boolean {
  for (const cause of causesOf(error)) {
    const code = memberOf(cause, "code");
    if (code === "UND_ERR_SOCKET") return Number(memberOf(memberOf(cause, "socket"), "bytesRead")) > 0;
    if (code === "ECONNRESET" || code === "EPIPE") return true;
  }
  return false;
}

function refusedStatus(answer: FetchResponseLike, url: URL, wallClock: number): KeySetError {
  // A fetch that behaves like a browser reports a refused redirect as status 0.
  if (answer.status === 0 || (answer.status >= 300 && answer.status < 400)) {
    return new KeySetError(
      "redirect_refused",
      `${printableUrl(url)} answered with a redirect, which is never followed; use the URL that it leads to`,
      {
        status: answer.status,
      },
    );
  }
  return new KeySetError("http_status", `${printableUrl(url)} answered with status ${answer.status}`, {
    status: answer.status,
    retryAfterMs: retryAfterMs(answer.headers.get("retry-after"), wallClock),
  });
}

/** RFC 9110 section 10.2.3: seconds or a date, at most a minute here. */
function retryAfterMs(value: string | null, wallClock: number): number | undefined {
  if (value === null) return undefined;
  const sole = soleValue(value.trim());
  if (/^\d+$/.test(sole)) return Math.min(MAX_RETRY_AFTER_MS, Number(sole) * 1000);
  const date = parseHttpDate(sole, wallClock);
  return date === undefined ? undefined : Math.min(MAX_RETRY_AFTER_MS, Math.max(0, date - wallClock));
}

async function readBody({ body }: FetchResponseLike, maxBytes: number, url: URL): Promise<Uint8Array> {
  if (!body) return new Uint8Array();
  const chunks = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  try {
    return await joined(chunks, maxBytes, url);
  } catch (error) {
    // Cancels the body.
    withoutWaiting(() => chunks.return?.());
    throw error;
  }
}

async function joined(chunks: AsyncIterator<Uint8Array>, maxBytes: number, url: URL): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let length = 0;
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    const chunk = next.value;
    // A caller's `fetch` may return text. Its bytes are not counted, so the limit would not apply.
    if (!ArrayBuffer.isView(chunk)) throw new TypeError("expected a body of bytes");
    length += chunk.byteLength;
    if (length > maxBytes) {
      throw new KeySetError("body_too_large", `${printableUrl(url)} answered with more than ${maxBytes} bytes`);
    }
    read.push(chunk);
  }
  return Buffer.concat(read, length);
}

/** An unread body would keep its connection busy. The streams of some clients, such as node-fetch, cannot be canceled. */
function discard({ body }: FetchResponseLike): void {
  if (body && "cancel" in body) withoutWaiting(() => body.cancel());
}

/** What the answer does not need. A caller's body may throw here, or never settle. */
function withoutWaiting(work: () => unknown): void {
  const done = (async () => work())();
  done.catch(() => {});
}

function asKeySetError(error: unknown, url: URL): KeySetError {
  const known = findKeySetError(error);
  if (known?.code === "address_refused") {
    return new KeySetError(known.code, `${printableUrl(url)}: ${known.message}`, { cause: known });
  }
  if (known !== undefined) return known;
  if (error instanceof SignerError && error.code === "timeout") return new KeySetError("timeout", error.message);
  const reason = reasonOf(error);
  const message = `${printableUrl(url)} could not be fetched${reason === undefined ? "" : `: ${reason}`}`;
  return new KeySetError("fetch_failed", message, { cause: causeWithout(url.search.slice(1), error) });
}

/** The error of a `fetch`, without the parts that repeat the query of the URL. */
function causeWithout(query: string, error: unknown): unknown {
  if (query === "") return error;
  return safeCause(error, {
    members: ["code", "errno", "syscall"],
    hides: (_error, message) => message.includes(query),
  });
}
