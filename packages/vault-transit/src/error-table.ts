import type { SignerErrorCode } from "@signpost/core";
import { isTlsCode, memberOf, textMember } from "@signpost/core/adapter";
import type { HttpAnswer } from "./exchange.ts";

/** The code and the text for an error. */
export interface Row {
  readonly code: SignerErrorCode;
  /** What follows "failed: ". */
  readonly text: string;
  /** Only for `integrity`. */
  readonly transient?: boolean | undefined;
}

const NO_ANSWER: Row = { code: "timeout", text: "no answer in time" };
const CUT: Row = { code: "unavailable", text: "the connection was cut" };
const UNREACHABLE: Row = { code: "unavailable", text: "the server cannot be reached" };
const NOT_HTTP: Row = { code: "unavailable", text: "something that does not speak HTTP answered" };
const UNKNOWN: Row = { code: "integrity", text: "the client failed for an unknown reason" };

/**
 * Rows by the server's message, which are the same in Vault and in OpenBao. They come before the status, because the
 * server answers some mistakes of the caller with 500.
 */
const BY_MESSAGE: readonly (readonly [message: RegExp, row: Row])[] = [
  [/signing key not found/, { code: "key_not_found", text: "there is no such key" }],
  [/higher than the latest key version/, { code: "key_not_found", text: "there is no such version of the key" }],
  [
    /less than the minimum encryption key version/,
    { code: "key_disabled", text: "the version is below the key's min_encryption_version" },
  ],
  [
    /less than the minimum (?:decryption|available) (?:key )?version/,
    { code: "key_disabled", text: "the version is below the key's min_decryption_version" },
  ],
  [/soft-deleted/, { code: "key_disabled", text: "the key is soft-deleted" }],
  [
    /does not contain a private part/,
    { code: "unsupported_key", text: "the key was imported with its public half only, and cannot sign" },
  ],
  [/does not support signing/, { code: "unsupported_key", text: "keys of this type cannot sign" }],
  [/missing client token/, { code: "access_denied", text: "the call had no token" }],
  [/no handler for route|unsupported path/, { code: "key_not_found", text: "nothing is mounted there" }],
  [/unsupported operation/, { code: "key_not_found", text: "what is mounted there is not a Transit engine" }],
  [/namespace not found/, { code: "key_not_found", text: "there is no such namespace" }],
  [/is sealed/, { code: "unavailable", text: "the server is sealed" }],
  [/not initialized|uninitialized/, { code: "unavailable", text: "the server is not initialized" }],
  [/\bstandby\b/, { code: "unavailable", text: "the server is a standby, and does not forward calls" }],
  [/context deadline exceeded/, { code: "timeout", text: "a part of the server did not answer in time" }],
];

type Refusal = Pick<HttpAnswer, "status" | "errors" | "hasErrors" | "retryAfter">;

/** The row for an answer that is not a success. */
export function rowOfAnswer({ status, errors, hasErrors, retryAfter }: Refusal): Row {
  if (status === 429) {
    const wait = retryAfter === undefined ? "" : `; it asks to wait ${retryAfter} s`;
    return { code: "throttled", text: `over a rate quota of the server${wait}` };
  }
  // A refusal says nothing more, and its message has several forms.
  if (status === 401 || status === 403) return { code: "access_denied", text: "the server denied permission" };
  const message = errors.join("\n");
  return BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] ?? byStatus(status, hasErrors);
}

function byStatus(status: number, isServer: boolean): Row {
  const http = `HTTP status ${status}`;
  if (status === 412) return { code: "unavailable", text: "the replica has not received the latest writes yet" };
  if (status === 408 || status === 504) return { ...NO_ANSWER, text: `${NO_ANSWER.text}: ${http}` };
  if (status >= 500) return { code: "unavailable", text: `the server is temporarily unavailable: ${http}` };
  // An ingress that has lost its server answers 404, and a proxy that wants other credentials 407.
  const isStranger = status < 400 || (status > 400 && !isServer);
  if (isStranger) return { code: "unavailable", text: `something other than the server answered: ${http}` };
  if (status === 404) return { code: "key_not_found", text: "there is no such key" };
  return { code: "invalid_argument", text: `the server refused the request with ${http}` };
}

/** Rows by the `code` of a system error or of undici. */
const BY_CODE: ReadonlyMap<string, Row> = new Map([
  ["ETIMEDOUT", NO_ANSWER],
  ["UND_ERR_CONNECT_TIMEOUT", NO_ANSWER],
  ["UND_ERR_HEADERS_TIMEOUT", NO_ANSWER],
  ["UND_ERR_BODY_TIMEOUT", NO_ANSWER],
  ["ECONNRESET", CUT],
  ["EPIPE", CUT],
  ["ECONNABORTED", CUT],
  ["UND_ERR_SOCKET", CUT],
  // Among others for a stream of HTTP/2 that the other side closed (CANCEL).
  ["UND_ERR_INFO", CUT],
  ["UND_ERR_HEADERS_OVERFLOW", { code: "integrity", text: "the answer is too long" }],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", { code: "integrity", text: "the answer was cut off", transient: true }],
  ["UND_ERR_ABORTED", { code: "unavailable", text: "the client ended the call" }],
  ["UND_ERR_DESTROYED", { code: "unavailable", text: "the client was destroyed" }],
  ["UND_ERR_CLOSED", { code: "unavailable", text: "the client was closed" }],
  ["UND_ERR_RES_EXCEEDED_MAX_SIZE", { code: "integrity", text: "the answer is too long" }],
  // From a ProxyAgent, whose proxy has TLS.
  ["UND_ERR_PRX_TLS", { code: "unavailable", text: "the proxy cannot be reached" }],
  ["ECONNREFUSED", { code: "unavailable", text: "the connection was refused" }],
]);

// Node: ENOTFOUND, EAI_AGAIN, EHOSTUNREACH. And HTTP/2.
const CONNECTION_CODE = /^E(?!RR_)[A-Z_]+$|^ERR_(?:OSSL|HTTP2)_/;

/** Codes of clients that are said in messages. Since OpenSSL 3.2, some of TLS contain a slash: ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE. */
const CODE = /^(?:ERR_SSL_SSL\/)?[A-Z][A-Z0-9_]{0,63}$/;

/** What undici's ProxyAgent says, with a code that reads as if the caller had ended the call. */
const PROXY_ANSWER = /^Proxy response \((\d{3})\) /;

/** The codes of an undici dispatcher that makes an error of an answer that is not a success: a RetryAgent, an interceptor. */
const OF_STATUS: ReadonlySet<string> = new Set(["UND_ERR_RESPONSE", "UND_ERR_REQ_RETRY"]);

/** The row for an error of the client. */
export function rowOfError(error: unknown): Row {
  const proxyStatus = PROXY_ANSWER.exec(textMember(error, "message"))?.[1];
  if (proxyStatus !== undefined) {
    return { code: "unavailable", text: `the proxy answered with status ${proxyStatus}` };
  }
  const code = textMember(error, "code");
  const status = memberOf(error, "statusCode");
  if (OF_STATUS.has(code) && typeof status === "number") {
    return rowOfAnswer({ status, errors: [], hasErrors: true, retryAfter: undefined });
  }
  if (code.startsWith("UND_ERR_SOCKS5")) {
    return { code: "unavailable", text: `the proxy cannot be used (${code})` };
  }
  // Some versions of undici give it a code, HPE_…, and others do not.
  if (memberOf(error, "name") === "HTTPParserError" || code.startsWith("HPE_")) return NOT_HTTP;
  if (code === "") return UNKNOWN;
  const row = BY_CODE.get(code) ?? (CONNECTION_CODE.test(code) || isTlsCode(code) ? UNREACHABLE : UNKNOWN);
  return CODE.test(code) ? { ...row, text: `${row.text} (${code})` } : row;
}

/** Whether the connection is dead: the other side cut it, or did not answer. */
export function isConnectionLoss(error: unknown): boolean {
  const row = BY_CODE.get(textMember(error, "code"));
  return row === CUT || row === NO_ANSWER;
}
