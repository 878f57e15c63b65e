import { KeySetError } from "../errors.ts";
import type { HttpAnswer, Send } from "./request.ts";
import { soleValue } from "./sole-value.ts";
import { printableUrl } from "./url.ts";

/** What is asked about a document that is stored, or not. */
export interface DocumentRequest {
  readonly url: URL;
  /** Of the stored document. Without one the answer brings a document in any case. */
  readonly etag: string | undefined;
  /** No cache on the way may answer. */
  readonly pastCaches: boolean;
  /** Something is stored: a cache on the way has to ask as well. */
  readonly revalidates: boolean;
  readonly revalidateWith: "get" | "head";
}

/** `unchanged`: the stored document is still the current one. */
export interface DocumentAnswer {
  readonly http: HttpAnswer;
  readonly unchanged: boolean;
}

/** Asks for a document, by one request or as few more as it takes. */
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
  const http = await send("GET", conditional);
  if (http.status === 200) return { http, unchanged: false };
  // A 304 that names another document than the one that was asked about says nothing.
  return isAbout(http, etag) ? { http, unchanged: true } : unconditional(send, url, "no-cache");
}

async function unconditional(send: Send, url: URL, cacheControl: string | undefined): Promise<DocumentAnswer> {
  const http = await send("GET", cacheControl === undefined ? {} : { "cache-control": cacheControl });
  if (http.status === 200) return { http, unchanged: false };
  // A 304 without a condition comes from a cache that lost its way: ask past it, once.
  const again = cacheControl === "no-cache" ? http : await send("GET", { "cache-control": "no-cache" });
  if (again.status === 200) return { http: again, unchanged: false };
  const message = `${printableUrl(url)} answered with status 304 to a request without a condition`;
  throw new KeySetError("http_status", message, { status: 304 });
}

/**
 * Whether a server, or what stands before it, may answer GET where it did not answer HEAD: by a status, such as 405, 403 or 500,
 * by hanging up, or by what is no HTTP. One that asks for patience is not asked again at once.
 */
function isRefusedHead(error: unknown): boolean {
  if (!(error instanceof KeySetError)) return false;
  if (error.code === "fetch_failed") return true;
  return error.status !== undefined && error.status !== 429 && error.retryAfterMs === undefined;
}

/**
 * An entity-tag to ask with (RFC 9110 section 8.8.3), also one that lacks its quotes, as servers send and compare it. Not `*`,
 * which every document matches, so that the stored one would stay for good; nor several, of which any would do.
 */
function entityTag(etag = ""): string | undefined {
  const sole = soleValue(etag);
  return /^(?:(?:W\/)?"[^"]*"|[^\s",*]+)$/i.test(sole) ? sole : undefined;
}

/** Whether a 304 is about the stored document: it names none, or the same opaque tag (RFC 9110 section 8.8.3.2). */
function isAbout(notModified: HttpAnswer, etag: string): boolean {
  const named = notModified.headers["etag"];
  return named === undefined || opaqueTag(soleValue(named)) === opaqueTag(etag);
}

function opaqueTag(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : etag;
}
