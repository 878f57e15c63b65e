import { isTlsCode, memberOf, safeCause, type CauseRules } from "@signpost/core/adapter";
import { sentSecretsOf } from "./sent-token.ts";

/** What a call does, for its message. */
export interface CallSubject {
  /** In the imperative: `sign with`, `read the public key of`. */
  readonly action: string;
  /** Resource name. */
  readonly name: string;
  /** The IAM permission that the call needs. */
  readonly permission?: string | undefined;
}

/** Members of the client's errors that say what happened. The others may contain the request: its digest, its token. */
const CAUSE: CauseRules = {
  members: ["code", "reason", "domain", "status", "httpStatusCode"],
  hides: (error, message) => isNoJson(error) || REPEATS.test(message),
};
/** Over gRPC, `details` is the message without the name of the status. */
const CAUSE_WITH_DETAILS: CauseRules = { ...CAUSE, members: [...CAUSE.members, "details"] };

// OAuth errors, whose descriptions may repeat the request, URLs with a query, the output of an executable, a token that
// does not fit into a header, and V8's message for an answer that is text. No part of the pattern matches a long text.
const REPEATS =
  /\bError code \S+: |subject_token|actor_token|assertion|client_secret|refresh_token|access_token|code=|ya29\.|\beyJ|https?:\/\/\S{0,2000}[?@]|\bBearer |Getting metadata from plugin failed|The executable (?:failed|returned)|Cannot create property/i;

/**
 * The part of a client's error that is safe as a `cause`. It omits a message that may repeat a file, an answer or a
 * request.
 */
export function causeOf(error: unknown): unknown {
  const details = memberOf(error, "details");
  const isSafe = typeof details === "string" && !REPEATS.test(details) && !NO_JSON.test(details);
  const rules = isSafe && !isNoJson(error) ? CAUSE_WITH_DETAILS : CAUSE;
  return safeCause(error, { ...rules, secrets: sentSecretsOf(error) });
}

// A variable may contain the credentials instead of a path. Only what is clearly a path is shown.
const MISSING_FILE =
  /^(?:Unable to read the credential file specified by the GOOGLE_APPLICATION_CREDENTIALS environment variable: )?The file at (?:\/[\w.@+-]{1,64}){1,16} does not exist, or it is not a file\. E\w{2,20}: [a-z ]{1,64}, \w{1,16} '(?:\/[\w.@+-]{1,64}){1,16}'$/;

/** What google-auth-library and this package say where they have nothing to repeat. */
const OF_SDK = /^(?:Could not load the default credentials|The answer has no access token$|expected https, or http on)/;

function isShown(message: string): boolean {
  return OF_SDK.test(message) || MISSING_FILE.test(message);
}

/** The part of an error of a source of credentials. Its answer may repeat what was sent, or the credentials. */
export function sourceCauseOf(error: unknown): unknown {
  return safeCause(error, { members: ["code", "status"], hides: (_error, message) => !isShown(message) });
}

// V8's messages, which repeat a part of the text. The SDK's message about a credentials file may contain one.
const NO_JSON = /is not valid JSON|in JSON at position|Unexpected end of JSON|\bUnexpected (?:token|non-whitespace)/;

/** Whether the error says that a text is not JSON. */
export function isNoJson(error: unknown): boolean {
  return memberOf(error, "name") === "SyntaxError" || NO_JSON.test(messageOf(error));
}

export function messageOf(error: unknown): string {
  const message = memberOf(error, "message");
  return typeof message === "string" ? message : "";
}

/**
 * Codes of Node and its resolver for an unreachable service or proxy or too few sockets, those of fetch for a lost or silent
 * connection, and node-fetch's code for an answer that ends early.
 */
const NETWORK_ERROR =
  /^(?:E(?:ADDR|AI_|CONN|HOST|NET|SHUTDOWN|[MN]FILE|NOBUFS|NOTCONN|NOTFOUND|PIPE|PROTO|REFUSED|SERVFAIL|TIMED?OUT)|ERR_PROXY_TUNNEL$|ERR_SOCKET_C(?:LOSED|ONNECTION)|ERR_STREAM_(?:DESTROYED|PREMATURE)|UND_ERR_(?:SOCKET|[A-Z]+_TIMEOUT)$)/;

/** The codes of Node's HTTP parser and of its decompression, for an answer of something that is not the service. */
const UNREADABLE_ERROR = /^(?:HPE|Z)_/;

/** Whether the code of an error says that the answer was not HTTP or was damaged. */
export function isUnreadableCode(code: string): boolean {
  return UNREADABLE_ERROR.test(code);
}

/** Whether the code of an error says that a connection failed or was lost, or that something else answered. */
export function isNetworkCode(code: string): boolean {
  return NETWORK_ERROR.test(code) || isTlsCode(code) || isUnreadableCode(code);
}

/** node-fetch's types for redirects that lead nowhere. */
const REDIRECTS: ReadonlySet<unknown> = new Set(["max-redirect", "invalid-redirect"]);

/** Whether an answer was an endless or a damaged redirect. */
export function isRedirectError(error: unknown): boolean {
  return REDIRECTS.has(memberOf(error, "type")) || REDIRECTS.has(memberOf(memberOf(error, "cause"), "type"));
}

/** node-fetch's words for a request that got no answer. Its reason may have no code, as where a proxy closes a connection. */
const UNANSWERED = /^request to \S+ failed, reason: /;

/** Whether a request failed before anything answered. */
export function isUnanswered(error: unknown): boolean {
  return UNANSWERED.test(messageOf(error));
}

/** How many nested causes are checked. */
const MAX_DEPTH = 4;

/** The network code of an error or of one of its causes. */
export function networkCode(error: unknown): string | undefined {
  return codeAmong(error, isNetworkCode);
}

// Node's codes for a file whose disk or server fails.
const FILE_FAILS = /^E(?:IO|STALE)$/;

/** The code of an error, or of one of its causes, that says that a file may be readable later. */
export function failingFileCode(error: unknown): string | undefined {
  return codeAmong(error, (code) => FILE_FAILS.test(code));
}

function codeAmong(error: unknown, isMeant: (code: string) => boolean): string | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_DEPTH && current !== undefined; depth += 1) {
    const code = memberOf(current, "code");
    if (typeof code === "string" && isMeant(code)) return code;
    current = memberOf(current, "cause");
  }
  return undefined;
}

/** The client throws this as a string, and google-gax as an error without a code. */
export function isClosedClient(error: unknown): boolean {
  const text = memberOf(error, "code") === undefined ? messageOf(error) : "";
  return (typeof error === "string" ? error : text) === "The client has already been closed.";
}
