import { SignerError, type SignerErrorCode } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import { causeOf, isClosedClient, isNetworkCode, messageOf, type CallSubject } from "./client-error.ts";
import { pluginFailure } from "./credential-errors.ts";

interface Row {
  readonly code: SignerErrorCode;
  /** What the caller reads after "cannot sign with …: ". */
  readonly text: string;
  readonly transient?: boolean;
  /** The version is still being made. */
  readonly isPending?: boolean;
}

/** gRPC statuses by number (https://grpc.github.io/grpc/core/md_doc_statuscodes.html). 0 is OK. */
const ROWS: Readonly<Record<number, Row>> = {
  // Ours are told apart by the signal before the table is asked.
  1: { code: "unavailable", text: "the call was cancelled on its way (CANCELLED)" },
  2: { code: "unavailable", text: "the service failed without saying why (UNKNOWN)" },
  3: { code: "invalid_argument", text: "the service refuses the request (INVALID_ARGUMENT)" },
  4: { code: "timeout", text: "no answer in time (DEADLINE_EXCEEDED)" },
  5: { code: "key_not_found", text: "there is no such key or version (NOT_FOUND)" },
  6: { code: "invalid_argument", text: "the service refuses the request (ALREADY_EXISTS)" },
  7: { code: "access_denied", text: "permission denied (PERMISSION_DENIED)" },
  8: { code: "throttled", text: "over a quota (RESOURCE_EXHAUSTED)" },
  9: { code: "key_disabled", text: "the version is not enabled (FAILED_PRECONDITION)" },
  10: { code: "unavailable", text: "the service gave up (ABORTED)" },
  11: { code: "invalid_argument", text: "the service refuses the request (OUT_OF_RANGE)" },
  12: { code: "invalid_argument", text: "the endpoint does not offer this call (UNIMPLEMENTED)" },
  13: { code: "unavailable", text: "the service failed (INTERNAL)" },
  14: { code: "unavailable", text: "the service cannot be reached (UNAVAILABLE)" },
  15: { code: "integrity", text: "the service lost data (DATA_LOSS)" },
  16: { code: "access_denied", text: "the credentials are refused (UNAUTHENTICATED)" },
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

/** HTTP statuses that say more than their class (https://cloud.google.com/apis/design/errors#handling_errors). */
const FROM_HTTP: Readonly<Record<number, number>> = {
  401: 16,
  403: 7,
  404: 5,
  407: 16,
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
 * The one table from what the client throws to our codes: a pure function. `state` is what is known of the
 * version from elsewhere; without it the service's own message is read for it.
 */
export function signerErrorFrom(error: unknown, subject: CallSubject, state?: string): SignerError {
  const { code, text, transient, isPending } = classify(error, state);
  const { action, name, permission } = subject;
  const isDenied = code === "access_denied" && statusNumber(error) === PERMISSION_DENIED;
  const hint = isDenied && permission !== undefined ? `; it takes ${permission}` : "";
  const message = `cannot ${action} ${name}: ${text}${hint}`;
  const mapped = new SignerError(code, message, { cause: causeOf(error), transient });
  if (isPending === true) pending.add(mapped);
  return mapped;
}

/** Told apart for the opening alone, which waits for such a version. */
const pending = new WeakSet<SignerError>();

/** Whether an error says that the version is still being made. */
export function isPendingVersion(error: SignerError): boolean {
  return pending.has(error);
}

/** Of a caller's own client over REST, before it sends anything. */
const MINIFIED: Row = {
  code: "invalid_argument",
  text: "the client was minified without the names of its classes, which it needs over REST",
};

function classify(error: unknown, knownState: string | undefined): Row {
  if (isClosedClient(error)) return { code: "closed", text: "the client is closed" };
  // REST in 5.x parses the body without a guard.
  if (memberOf(error, "name") === "SyntaxError") {
    return { code: "integrity", text: "the answer is cut off or no JSON", transient: true };
  }
  if (messageOf(error).startsWith("wrapperToProto3JSON: ")) return MINIFIED;
  const failure = pluginFailure(error);
  if (failure !== undefined) return failure;
  const status = statusNumber(error);
  const row = status === undefined ? undefined : ROWS[status];
  if (row === undefined) return { code: "integrity", text: "the client failed in an unknown way" };
  const ended = ENDED_STREAMS[String(memberOf(error, "details"))];
  if (ended !== undefined && ended.status === status) return ended.row;
  if (status === 3 && isChecksumRefusal(error)) {
    return { code: "integrity", text: "the digest reached the service damaged", transient: true };
  }
  if (status === 9) return stateRow(knownState ?? stateInMessage(error)) ?? row;
  return row;
}

/** What grpc-js says of a stream that was ended without a status, by its words for the code of HTTP/2 (RFC 9113 section 7). */
const ENDED_STREAMS: Readonly<Record<string, { readonly status: number; readonly row: Row } | undefined>> = {
  // CANCEL: a server ends a call so whose deadline it finds over.
  "Call cancelled": {
    status: 1,
    row: { code: "timeout", text: "the service ended the call before it had an answer (CANCELLED)" },
  },
  // ENHANCE_YOUR_CALM: of the connection, as after too many pings. No quota of the project is over.
  "Bandwidth exhausted or memory limit exceeded": {
    status: 8,
    row: { code: "unavailable", text: "the service closed the connection (ENHANCE_YOUR_CALM)" },
  },
};

/** A version that is about to be usable is an outage that ends by itself; any other state is a decision. */
function stateRow(state: string | undefined): Row | undefined {
  if (state === undefined) return undefined;
  const text = `the version is ${state}`;
  if (state === "PENDING_GENERATION" || state === "PENDING_IMPORT")
    return { code: "unavailable", text, isPending: true };
  // Enabled by the time we asked: what the service refused a moment ago it may now do.
  if (state === "ENABLED") return { code: "unavailable", text: "the version was not usable a moment ago" };
  return { code: "key_disabled", text };
}

// States of the API's enum CryptoKeyVersionState, as the service's message ends with one.
const STATE = /current state is: ([A-Z_]{1,40})\b/;

/** The state that the service's message names. It only ever changes wording and patience, never acceptance. */
export function stateInMessage(error: unknown): string | undefined {
  return STATE.exec(messageOf(error))?.[1];
}

/** The gRPC status: of gRPC itself, of REST in 6.x, or of the body or HTTP status that REST in 5.x leaves as it is. */
export function statusNumber(error: unknown): number | undefined {
  const code = memberOf(error, "code");
  if (typeof code === "string") return isNetworkCode(code) ? 14 : undefined;
  // node-fetch's word for redirections without an end, as 5.x hands it on. 6.x says UNAVAILABLE.
  if (code === undefined && memberOf(memberOf(error, "cause"), "type") === "max-redirect") return 14;
  if (typeof code !== "number") return undefined;
  const http = memberOf(error, "httpStatusCode");
  // 6.x calls every page of a proxy that it does not know FAILED_PRECONDITION, which is 400 when Google says it.
  if (code === 9 && typeof http === "number" && http !== 400) return fromHttp(http);
  return code < 100 ? code : (statusInBody(messageOf(error)) ?? fromHttp(code));
}

/** Whether the service refused the credentials of a call, which it then did not make. */
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
    return typeof name === "string" ? NUMBERS[name] : undefined;
  } catch {
    return undefined;
  }
}

function isChecksumRefusal(error: unknown): boolean {
  return /digest_?crc32c/i.test(messageOf(error));
}
