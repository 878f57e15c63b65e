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

/** Members of the client's errors that say what happened. All others may hold the request: its digest, its token. */
const CAUSE: CauseRules = { members: ["code", "details", "reason", "domain", "status", "httpStatusCode"] };

/** What of a client's error is fit for a `cause`. */
export function causeOf(error: unknown): unknown {
  return safeCause(error, CAUSE);
}

export function messageOf(error: unknown): string {
  const message = memberOf(error, "message");
  return typeof message === "string" ? message : "";
}

/** Node's words for a service that cannot be reached, or for want of sockets, and node-fetch's for an early end. */
const NETWORK_ERROR =
  /^(?:E(?:ADDR|AI_|CONN|HOST|NET|SHUTDOWN|[MN]FILE|NOBUFS|NOTCONN|NOTFOUND|PIPE|PROTO|TIMEDOUT)|ERR_STREAM_PREMATURE)/;

// OpenSSL's and Node's words for a connection that cannot be trusted. gRPC says UNAVAILABLE.
const TLS_ERROR = /^(?:CERT_|DEPTH_ZERO_|ERR_SSL_|ERR_TLS_|SELF_SIGNED_|UNABLE_TO_)/;

/** Whether the code of an error says that a connection was not made or not kept. */
export function isNetworkCode(code: string): boolean {
  return NETWORK_ERROR.test(code) || TLS_ERROR.test(code);
}

/** How far causes of causes are followed. */
const MAX_DEPTH = 4;

/** The code by which an error, or one that it was made of, says so. */
export function networkCode(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_DEPTH && current !== undefined; depth += 1) {
    const code = memberOf(current, "code");
    if (typeof code === "string" && isNetworkCode(code)) return code;
    current = memberOf(current, "cause");
  }
  return undefined;
}

/** Thrown by the client as a mere string, and by google-gax as an error without a code. */
export function isClosedClient(error: unknown): boolean {
  const text = memberOf(error, "code") === undefined ? messageOf(error) : "";
  return (typeof error === "string" ? error : text) === "The client has already been closed.";
}
