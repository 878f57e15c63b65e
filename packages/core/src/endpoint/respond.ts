import type { JwksDocument } from "../keyset/types.ts";
import { type PreflightHeaders, withAnyOrigin } from "./cors.ts";
import { matchesIfNoneMatch } from "./if-none-match.ts";
import type { WeakIfNoneMatch } from "./if-none-match.ts";

/** A response, for servers that use neither `fetch` nor `node:http`. */
export interface JwksResponse {
  /** 200, 304, 405, 500, or 204 for a CORS preflight. */
  readonly status: number;
  /** The headers, with names like `Cache-Control`. */
  readonly headers: Record<string, string>;
  /** `null` if there is no body. All responses share these bytes, so never change them. */
  readonly body: Uint8Array | null;
}

export interface ResponseState {
  readonly weakIfNoneMatch: WeakIfNoneMatch;
  readonly cors: boolean;
  /** The current document, or undefined if there is none yet. */
  readonly document: () => JwksDocument | undefined;
  /** The current `Cache-Control` value. */
  readonly cacheControl: () => string;
}

const MEDIA_TYPE = "application/jwk-set+json";
const ALLOWED_METHODS = "GET, HEAD";
const METHOD_NOT_ALLOWED = new TextEncoder().encode("method not allowed\n");
const INTERNAL_SERVER_ERROR = new TextEncoder().encode("internal server error\n");

/** The response to one request. The document is already hashed and serialized. */
export function respondTo(
  state: ResponseState,
  method: string,
  ifNoneMatch: string | null | undefined,
  asked: PreflightHeaders = {},
): JwksResponse {
  const response = respondToOwnOrigin(state, method, ifNoneMatch);
  return state.cors ? withAnyOrigin(response, method, asked) : response;
}

function respondToOwnOrigin(
  state: ResponseState,
  method: string,
  ifNoneMatch: string | null | undefined,
): JwksResponse {
  if (method !== "GET" && method !== "HEAD") return plainText(405, METHOD_NOT_ALLOWED, { Allow: ALLOWED_METHODS });
  // The document first. If a rotation starts in between, the old keys get the short lifetime.
  const document = state.document();
  const cacheControl = state.cacheControl();
  if (document === undefined) return withoutBodyOf(method, plainText(500, INTERNAL_SERVER_ERROR));
  const { body, etag } = document;
  if (typeof ifNoneMatch === "string" && matchesIfNoneMatch(ifNoneMatch, etag, state.weakIfNoneMatch)) {
    return { status: 304, headers: { "Cache-Control": cacheControl, ETag: etag }, body: null };
  }
  const headers = {
    "Content-Type": MEDIA_TYPE,
    "Content-Length": String(body.length),
    "Cache-Control": cacheControl,
    ETag: etag,
    Allow: ALLOWED_METHODS,
  };
  return withoutBodyOf(method, { status: 200, headers, body });
}

function plainText(status: number, body: Uint8Array, headers: Record<string, string> = {}): JwksResponse {
  return {
    status,
    headers: {
      "Content-Type": "text/plain",
      "Content-Length": String(body.length),
      "Cache-Control": "no-store",
      ...headers,
    },
    body,
  };
}

/** HEAD has the same headers as GET, including `Content-Length` (RFC 9110 section 9.3.2). */
function withoutBodyOf(method: string, response: JwksResponse): JwksResponse {
  return method === "HEAD" ? { ...response, body: null } : response;
}
