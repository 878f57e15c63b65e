import { reasonOf } from "../causes.ts";
import { KeySetError } from "../errors.ts";
import type { HttpAnswer, Send } from "./request.ts";
import { soleValue } from "./sole-value.ts";
import { printableUrl } from "./url.ts";

/** A request for a document that may already be stored. */
export interface DocumentRequest {
  readonly url: URL;
  /** ETag of the stored document. Without one, the answer always contains a document. */
  readonly etag: string | undefined;
  /** Caches must not answer. */
  readonly pastCaches: boolean;
  /** A document is stored, so caches must revalidate too. */
  readonly revalidates: boolean;
  readonly revalidateWith: "get" | "head";
}

/** `unchanged`: the stored document is still the current one. */
export interface DocumentAnswer {
  readonly http: HttpAnswer;
  readonly unchanged: boolean;
}

/** Fetches a document, with as few requests as possible. */
export async function requestDocument(send: Send, request: DocumentRequest): Promise<DocumentAnswer> {
  const { url, pastCaches, revalidates } = request;
  const etag = entityTag(request.etag);
  if (pastCaches) return unconditional(send, url, "no-cache");
  if (!revalidates) return unconditional(send, url, undefined);
  if (etag === undefined) return unconditional(send, url, "max-age=0");
  const conditional = { "if-none-match": etag, "cache-control": "max-age=0" };
  if (request.revalidateWith === "head") {
    const head = await send("HEAD", conditional).catch((error: unknown) => {
      if (isRefusedHead(error)) return undefined;
      throw error;
    });
    if (head !== undefined) {
      const unchanged = head.status === 304 ? isAbout(head, etag) : entityTag(head.headers["etag"]) === etag;
      return unchanged ? { http: head, unchanged } : unconditional(send, url, "max-age=0");
    }
  }
  const http = await send("GET", conditional).catch((error: unknown) => {
    if (isRefusedCondition(error)) return undefined;
    throw error;
  });
  if (http === undefined) return unconditional(send, url, "max-age=0");
  if (http.status === 200) return { http, unchanged: false };
  // A 304 about another document than the one in the condition means nothing.
  return isAbout(http, etag) ? { http, unchanged: true } : unconditional(send, url, "no-cache");
}

async function unconditional(send: Send, url: URL, cacheControl: string | undefined): Promise<DocumentAnswer> {
  const http = await send("GET", cacheControl === undefined ? {} : { "cache-control": cacheControl });
  if (http.status === 200) return { http, unchanged: false };
  // A 304 to a request without a condition comes from a faulty cache. Bypass it once.
  const again = cacheControl === "no-cache" ? http : await send("GET", { "cache-control": "no-cache" });
  if (again.status === 200) return { http: again, unchanged: false };
  const message = `${printableUrl(url)} answered with status 304 to a request without a condition`;
  throw new KeySetError("http_status", message, { status: 304 });
}

/**
 * Whether a server or a proxy that refused HEAD may still answer GET. It refuses with a status such as 405, 403 or 500, by closing
 * the connection, or with bytes that are not HTTP. After a `Retry-After`, no GET is sent.
 */
function isRefusedHead(error: unknown): boolean {
  if (!(error instanceof KeySetError)) return false;
  if (error.code === "fetch_failed") return true;
  return error.status !== undefined && error.status !== 429 && error.retryAfterMs === undefined;
}

/** What a server or proxy says that is down or overloaded. Another request would not help it. */
const OUTAGES: readonly (number | undefined)[] = [429, 503, 504];

/** The server was reached, and closed the connection or sent something that is not HTTP. */
const BROKEN_ANSWERS: ReadonlySet<string | undefined> = new Set(["UND_ERR_SOCKET", "HTTPParserError"]);

/**
 * Whether a server or a proxy may have refused only the condition. Some require quotes that their own ETag lacks (400), report an
 * unchanged document as an error (412), do not let the header pass (403), or fail when they make a 304 (500, 502, or a
 * connection that is closed).
 */
function isRefusedCondition(error: unknown): boolean {
  if (!(error instanceof KeySetError)) return false;
  if (error.code === "fetch_failed") return BROKEN_ANSWERS.has(reasonOf(error.cause));
  return error.code === "http_status" && error.retryAfterMs === undefined && !OUTAGES.includes(error.status);
}

/**
 * An entity-tag for the condition (RFC 9110 section 8.8.3). It may lack its quotes, because servers send and compare such tags. `*`
 * is not used: every document matches it, so the stored one would never be replaced. A list is not used either, because any member
 * would match.
 */
function entityTag(etag = ""): string | undefined {
  const sole = soleValue(etag);
  return /^(?:(?:W\/)?"[^"]*"|[^\s",*]+)$/i.test(sole) ? sole : undefined;
}

/** Whether a 304 is about the stored document: it has no tag, or the same opaque tag (RFC 9110 section 8.8.3.2). */
function isAbout(notModified: HttpAnswer, etag: string): boolean {
  const named = notModified.headers["etag"];
  return named === undefined || opaqueTag(soleValue(named)) === opaqueTag(etag);
}

function opaqueTag(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : etag;
}
