import { SignerError, type SignerErrorCode } from "@signpost/core";
import { memberOf, safeCause, type CauseRules } from "@signpost/core/adapter";

/** What a call was about, for the message. */
export interface CallSubject {
  /** In the imperative: `sign with`, `read the public key of`. */
  readonly action: string;
  /** Resource name. */
  readonly name: string;
  /** The IAM permission that the call takes. */
  readonly permission?: string | undefined;
}

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

/** Members of the client's errors that say what happened. All others may hold the request: its digest, its token. */
const CAUSE: CauseRules = { members: ["code", "details", "reason", "domain", "status", "httpStatusCode"] };

/**
 * The one table from what the client throws to our codes: a pure function. `state` is what is known of the
 * version from elsewhere; without it the service's own message is read for it.
 */
export function signerErrorFrom(error: unknown, subject: CallSubject, state?: string): SignerError {
  const { code, text, transient, isPending } = classify(error, state);
  const { action, name, permission } = subject;
  const hint = code === "access_denied" && permission !== undefined ? `; it takes ${permission}` : "";
  const message = `cannot ${action} ${name}: ${text}${hint}`;
  const options = { cause: safeCause(error, CAUSE), transient };
  return isPending === true ? new PendingVersionError(code, message, options) : new SignerError(code, message, options);
}

/** Told apart for the opening alone, which waits for such a version. Callers see a SignerError. */
class PendingVersionError extends SignerError {}

/** Whether an error says that the version is still being made. */
export function isPendingVersion(error: SignerError): boolean {
  return error instanceof PendingVersionError;
}

/** The same for what happens before a call is made, where a refusal is one of the credentials. */
export function credentialsError(error: unknown): SignerError {
  const mapped = signerErrorFrom(error, { action: "get", name: "Google credentials" });
  if (mapped.transient && mapped.code !== "integrity") return mapped;
  return new SignerError("access_denied", "no usable Google credentials were found", { cause: mapped.cause });
}

function classify(error: unknown, knownState: string | undefined): Row {
  if (isClosedClient(error)) return { code: "closed", text: "the client is closed" };
  // REST in 5.x parses the body without a guard.
  if (memberOf(error, "name") === "SyntaxError") {
    return { code: "integrity", text: "the answer is cut off or no JSON", transient: true };
  }
  if (isRefusedByTokenEndpoint(error)) return { code: "access_denied", text: "no access token could be had" };
  const status = statusNumber(error);
  const row = status === undefined ? undefined : ROWS[status];
  if (row === undefined) return { code: "integrity", text: "the client failed in an unknown way" };
  if (status === 3 && isChecksumRefusal(error)) {
    return { code: "integrity", text: "the digest reached the service damaged", transient: true };
  }
  if (status === 9) return stateRow(knownState ?? stateInMessage(error)) ?? row;
  return row;
}

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
  if (typeof code === "string") return NETWORK_ERROR.test(code) || TLS_ERROR.test(code) ? 14 : undefined;
  if (typeof code !== "number") return undefined;
  const http = memberOf(error, "httpStatusCode");
  // 6.x calls every page of a proxy that it does not know FAILED_PRECONDITION, which is 400 when Google says it.
  if (code === 9 && typeof http === "number" && http !== 400) return fromHttp(http);
  return code < 100 ? code : (statusInBody(messageOf(error)) ?? fromHttp(code));
}

function fromHttp(status: number): number {
  const isOfProxy = status < 400 || status >= 500;
  return FROM_HTTP[status] ?? (isOfProxy ? 14 : 3);
}

/** Node's words for a service that cannot be reached, or for want of sockets, and node-fetch's for an early end. */
const NETWORK_ERROR =
  /^(?:E(?:ADDR|AI_|CONN|HOST|NET|SHUTDOWN|[MN]FILE|NOBUFS|NOTCONN|NOTFOUND|PIPE|PROTO|TIMEDOUT)|ERR_STREAM_PREMATURE)/;

// OpenSSL's and Node's words for a connection that cannot be trusted. gRPC says UNAVAILABLE.
const TLS_ERROR = /^(?:CERT_|DEPTH_ZERO_|ERR_SSL_|ERR_TLS_|SELF_SIGNED_|UNABLE_TO_)/;

function statusInBody(body: string): number | undefined {
  try {
    const name: unknown = (JSON.parse(body) as { error?: { status?: unknown } } | null)?.error?.status;
    return typeof name === "string" ? NUMBERS[name] : undefined;
  } catch {
    return undefined;
  }
}

// Thrown by the client as a mere string, and by google-gax as an error without a code.
function isClosedClient(error: unknown): boolean {
  const text = memberOf(error, "code") === undefined ? messageOf(error) : "";
  return (typeof error === "string" ? error : text) === "The client has already been closed.";
}

function isChecksumRefusal(error: unknown): boolean {
  return /digest_?crc32c/i.test(messageOf(error));
}

/** gRPC asks for a token on each call; the token endpoint's HTTP status then stands where a gRPC status is expected. */
function isRefusedByTokenEndpoint(error: unknown): boolean {
  const code = memberOf(error, "code");
  const isClientError = typeof code === "number" && code >= 400 && code < 500 && code !== 429;
  return isClientError && messageOf(error).includes("Getting metadata from plugin failed");
}

function messageOf(error: unknown): string {
  const message = memberOf(error, "message");
  return typeof message === "string" ? message : "";
}
