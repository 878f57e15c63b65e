import { SignerError, type SignerErrorCode } from "@signpost/core";
import { memberOf, textMember } from "@signpost/core/adapter";
import {
  causeOf,
  isClosedClient,
  isNetworkCode,
  isRedirectError,
  isUnanswered,
  messageOf,
  networkCode,
  type CallSubject,
} from "./client-error.ts";
import { pluginFailure } from "./credential-errors.ts";
import { foreignStatus } from "./foreign-answer.ts";

interface Row {
  readonly code: SignerErrorCode;
  /** The text after "cannot sign with …: ". */
  readonly text: string;
  readonly transient?: boolean;
  /** Whether the version is still being generated. */
  readonly isPending?: boolean;
}

/** gRPC statuses by number (https://grpc.github.io/grpc/core/md_doc_statuscodes.html). 0 is OK. */
const ROWS: Readonly<Record<number, Row>> = {
  // The caller's own aborts are recognized by the signal before this table is used.
  1: { code: "unavailable", text: "the call was cancelled in transit (CANCELLED)" },
  2: { code: "unavailable", text: "the service failed without saying why (UNKNOWN)" },
  3: { code: "invalid_argument", text: "the service refused the request (INVALID_ARGUMENT)" },
  4: { code: "timeout", text: "no answer in time (DEADLINE_EXCEEDED)" },
  5: { code: "key_not_found", text: "there is no such key or version (NOT_FOUND)" },
  6: { code: "invalid_argument", text: "the service refused the request (ALREADY_EXISTS)" },
  7: { code: "access_denied", text: "permission denied (PERMISSION_DENIED)" },
  8: { code: "throttled", text: "over a quota (RESOURCE_EXHAUSTED)" },
  9: { code: "key_disabled", text: "the version is not enabled (FAILED_PRECONDITION)" },
  10: { code: "unavailable", text: "the service gave up (ABORTED)" },
  11: { code: "invalid_argument", text: "the service refused the request (OUT_OF_RANGE)" },
  12: { code: "invalid_argument", text: "the endpoint does not offer this call (UNIMPLEMENTED)" },
  13: { code: "unavailable", text: "the service failed (INTERNAL)" },
  14: { code: "unavailable", text: "the service cannot be reached (UNAVAILABLE)" },
  15: { code: "integrity", text: "the service lost data (DATA_LOSS)" },
  16: { code: "access_denied", text: "the credentials were refused (UNAUTHENTICATED)" },
};

const NUMBERS: Readonly<Record<string, number>> = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
};

const PERMISSION_DENIED = 7;

/**
 * gRPC statuses for HTTP statuses that say more than their class
 * (https://cloud.google.com/apis/design/errors#handling_errors).
 */
const FROM_HTTP: Readonly<Record<number, number>> = {
  401: 16,
  403: 7,
  404: 5,
  408: 4,
  409: 10,
  421: 14,
  425: 14,
  429: 8,
  499: 1,
  501: 12,
  504: 4,
};

/**
 * Converts the client's error to a `SignerError`. `state` is the state of the version, if it is known. Otherwise it is
 * read from the service's message.
 */
export function signerErrorFrom(error: unknown, subject: CallSubject, state?: string): SignerError {
  const { code, text, transient, isPending } = classify(error, state);
  const { action, name, permission } = subject;
  const isServices = statusNumber(error) === PERMISSION_DENIED && foreignStatus(error) === undefined;
  const isDenied = code === "access_denied" && isServices;
  const hint = isDenied && permission !== undefined ? `; this needs ${permission}` : "";
  const message = `cannot ${action} ${name}: ${text}${hint}`;
  const mapped = new SignerError(code, message, { cause: causeOf(error), transient });
  if (isPending === true) pending.add(mapped);
  return mapped;
}

/** Marks these errors for the opening, which waits for such a version. */
const pending = new WeakSet<SignerError>();

/** Whether an error says that the version is still being generated. */
export function isPendingVersion(error: SignerError): boolean {
  return pending.has(error);
}

/** From the caller's client over REST, before it sends anything. */
const MINIFIED: Row = {
  code: "invalid_argument",
  text: "the client was minified without class names, which it needs over REST",
};

function classify(error: unknown, knownState: string | undefined): Row {
  if (isClosedClient(error)) return { code: "closed", text: "the client is closed" };
  // Over REST, 5.x lets the error of its JSON parser through, and has no code for an empty answer.
  if (memberOf(error, "name") === "SyntaxError" || messageOf(error).startsWith("Received null response")) {
    return { code: "integrity", text: "the answer is truncated or is not JSON", transient: true };
  }
  if (messageOf(error).startsWith("wrapperToProto3JSON: ")) return MINIFIED;
  const failure = pluginFailure(error);
  if (failure !== undefined) return failure;
  const foreign = foreignRow(redirectStatus(error) ?? foreignStatus(error));
  if (foreign !== undefined) return foreign;
  const status = statusNumber(error);
  const row = status === undefined ? undefined : ROWS[status];
  if (row === undefined) return { code: "integrity", text: "the client failed for an unknown reason" };
  const ended = ENDED_STREAMS[textMember(error, "details")];
  if (ended !== undefined && ended.status === status) return ended.row;
  if (status === 3 && isChecksumRefusal(error)) {
    return { code: "integrity", text: "the digest was damaged in transit", transient: true };
  }
  if (status === 9) return stateRow(knownState ?? stateInMessage(error)) ?? row;
  return row;
}

/** What these HTTP statuses say is true of an answer that is not the service's, too. */
const SAME_FOR_ALL: ReadonlySet<number | undefined> = new Set([undefined, 400, 401, 408, 429, 504]);

/** The row for an answer of something in front of the service. */
function foreignRow(status: number | undefined): Row | undefined {
  if (SAME_FOR_ALL.has(status)) return undefined;
  const http = `(HTTP ${status})`;
  if (status === 403) {
    return { code: "access_denied", text: `something that is not the service refused the call ${http}` };
  }
  return { code: "unavailable", text: `something that is not the service answered ${http}` };
}

/** Rows for a stream that ended without a status, by grpc-js's text for the HTTP/2 error code (RFC 9113 section 7). */
const ENDED_STREAMS: Readonly<Record<string, { readonly status: number; readonly row: Row } | undefined>> = {
  // CANCEL: a server ends a call like this when the call's deadline is over.
  "Call cancelled": {
    status: 1,
    row: { code: "timeout", text: "the service ended the call before it answered (CANCELLED)" },
  },
  // ENHANCE_YOUR_CALM: about the connection, for example after too many pings. No quota of the project was exceeded.
  "Bandwidth exhausted or memory limit exceeded": {
    status: 8,
    row: { code: "unavailable", text: "the service closed the connection (ENHANCE_YOUR_CALM)" },
  },
  // INADEQUATE_SECURITY: about TLS, and mostly from something in front of the service. No permission is missing.
  "Protocol not secure enough": {
    status: 7,
    row: { code: "unavailable", text: "the other side refused the TLS of the connection (INADEQUATE_SECURITY)" },
  },
};

/** The row for a state. If the version will soon be usable, the error is transient. Any other state is lasting. */
function stateRow(state: string | undefined): Row | undefined {
  if (state === undefined) return undefined;
  const text = `the version is ${state}`;
  if (state === "PENDING_GENERATION" || state === "PENDING_IMPORT")
    return { code: "unavailable", text, isPending: true };
  // The version became enabled after the refusal, so the next attempt may succeed.
  if (state === "ENABLED") return { code: "unavailable", text: "the version was not usable yet" };
  return { code: "key_disabled", text };
}

// A state of the API's enum CryptoKeyVersionState, at the end of the service's message.
const STATE = /current state is: ([A-Z_]{1,40})\b/;

/** The state in the service's message. It affects the text and the wait of an error, and never accepts anything. */
export function stateInMessage(error: unknown): string | undefined {
  return STATE.exec(messageOf(error))?.[1];
}

/** For a client without gRPC, by the name of the error: its own timeout, and an abort by another party. */
const ENDED_BY_CLIENT: ReadonlyMap<unknown, number> = new Map([
  ["TimeoutError", 4],
  ["AbortError", 1],
]);

/** The gRPC status: from gRPC, from REST in 6.x, or from the body or HTTP status that REST in 5.x passes on. */
export function statusNumber(error: unknown): number | undefined {
  const code = memberOf(error, "code");
  if (typeof code === "string" && isNetworkCode(code)) return 14;
  // 5.x passes redirects on, and 6.x says UNAVAILABLE. A client that uses fetch has the reason only as the cause.
  if (code === undefined && (isRedirectError(error) || isUnanswered(error) || networkCode(error) !== undefined))
    return 14;
  const ended = ENDED_BY_CLIENT.get(memberOf(error, "name"));
  if (ended !== undefined) return ended;
  const http = memberOf(error, "httpStatusCode");
  if (code === undefined && typeof http === "number") return fromHttp(http);
  if (typeof code !== "number") return undefined;
  // 6.x calls every unknown page of a proxy FAILED_PRECONDITION. From Google, that has the HTTP status 400.
  if (code === 9 && typeof http === "number" && http !== 400) return fromHttp(http);
  return code < 100 ? code : (statusInBody(messageOf(error)) ?? fromHttp(code));
}

/** The HTTP status of a redirect, which the service never sends. 6.x and 5.x keep it in different members. */
function redirectStatus(error: unknown): number | undefined {
  return [memberOf(error, "httpStatusCode"), memberOf(error, "code")].find(
    (status): status is number => typeof status === "number" && status >= 300 && status < 400,
  );
}

/** Whether the service refused the credentials of a call, and so did not run it. */
export function isUnauthenticated(error: unknown): boolean {
  return statusNumber(error) === NUMBERS["UNAUTHENTICATED"];
}

function fromHttp(status: number): number {
  const isOfProxy = status < 400 || status >= 500;
  return FROM_HTTP[status] ?? (isOfProxy ? 14 : 3);
}

function statusInBody(body: string): number | undefined {
  try {
    const name: unknown = (JSON.parse(body) as { error?: { status?: unknown } } | null)?.error?.status;
    return typeof name === "string" && Object.hasOwn(NUMBERS, name) ? NUMBERS[name] : undefined;
  } catch {
    return undefined;
  }
}

function isChecksumRefusal(error: unknown): boolean {
  return /digest_?crc32c/i.test(messageOf(error));
}
