import type { SignerErrorCode } from "@signpost/core";
import { isTlsCode, memberOf, textMember } from "@signpost/core/adapter";

/** The code and the text for an error. */
export interface Row {
  readonly code: SignerErrorCode;
  /** What follows "kms:Sign failed: ". */
  readonly text: string;
  readonly transient?: boolean | undefined;
}

const THROTTLED: Row = { code: "throttled", text: "over a request quota" };
const UNAVAILABLE: Row = { code: "unavailable", text: "the service is temporarily unavailable" };
const UNREACHABLE: Row = { code: "unavailable", text: "the service cannot be reached" };
const NO_TUNNEL: Row = { code: "unavailable", text: "the proxy made no connection" };
const CUT: Row = { code: "unavailable", text: "the connection was cut" };
const NO_ANSWER: Row = { code: "timeout", text: "no answer in time" };
export const CREDENTIALS_REFUSED: Row = {
  code: "access_denied",
  text: "the credentials have expired or were refused, or this machine's clock is wrong",
};
export const NO_CREDENTIALS: Row = { code: "access_denied", text: "could not get credentials" };
const NOT_ALLOWED: Row = { code: "access_denied", text: "not allowed by a policy" };
const REFUSED: Row = { code: "invalid_argument", text: "the service refused the request" };
const UNKNOWN: Row = { code: "integrity", text: "the client failed for an unknown reason" };

/**
 * Rows by the service's error code, which is the SDK's `name`:
 * https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html and CommonErrors.html, other names that services use
 * for throttling and for refused signatures, and the errors of STS, which provides credentials.
 */
const BY_NAME: ReadonlyMap<string, Row> = new Map([
  ["ThrottlingException", THROTTLED],
  ["ThrottledException", THROTTLED],
  ["Throttling", THROTTLED],
  ["TooManyRequestsException", THROTTLED],
  ["TooManyRequests", THROTTLED],
  ["RequestLimitExceeded", THROTTLED],
  ["RequestThrottled", THROTTLED],
  ["RequestThrottledException", THROTTLED],
  ["SlowDown", THROTTLED],
  ["LimitExceededException", { code: "throttled", text: "over a quota of the service" }],

  ["KMSInternalException", UNAVAILABLE],
  ["InternalFailure", UNAVAILABLE],
  ["InternalFailureException", UNAVAILABLE],
  ["ServiceUnavailable", UNAVAILABLE],
  ["ServiceUnavailableException", UNAVAILABLE],
  ["KeyUnavailableException", { code: "unavailable", text: "the key is temporarily unavailable" }],
  ["RequestAbortedException", CUT],
  ["DependencyTimeoutException", { code: "timeout", text: "a part of the service did not answer in time" }],
  ["RequestTimeout", NO_ANSWER],
  ["RequestTimeoutException", NO_ANSWER],

  ["NotFoundException", { code: "key_not_found", text: "there is no such key" }],
  ["DisabledException", { code: "key_disabled", text: "the key is disabled" }],
  ["KMSInvalidStateException", { code: "key_disabled", text: "the key's state does not allow this call" }],
  ["InvalidKeyUsageException", { code: "unsupported_key", text: "the key cannot sign with ECDSA_SHA_256" }],
  ["UnsupportedOperationException", { code: "unsupported_key", text: "the key has no public key" }],
  ["InvalidArnException", { code: "invalid_argument", text: "the service refused the ARN" }],
  ["ValidationException", REFUSED],
  // From the caller's client: an endpoint together with a FIPS or dual-stack setting.
  [
    "EndpointError",
    { code: "invalid_argument", text: "the client's endpoint conflicts with its FIPS or dual-stack setting" },
  ],
  ["DryRunOperationException", REFUSED],

  ["AccessDeniedException", { code: "access_denied", text: "not allowed by the key policy or an IAM policy" }],
  ["AccessDenied", NOT_ALLOWED],
  ["NotAuthorized", NOT_ALLOWED],
  ["OptInRequired", { code: "access_denied", text: "the account is not subscribed to the service" }],
  ["InvalidGrantTokenException", { code: "access_denied", text: "the grant token was refused" }],
  ["ExpiredTokenException", CREDENTIALS_REFUSED],
  ["ExpiredToken", CREDENTIALS_REFUSED],
  ["UnrecognizedClientException", CREDENTIALS_REFUSED],
  ["InvalidClientTokenId", CREDENTIALS_REFUSED],
  ["InvalidAccessKeyId", CREDENTIALS_REFUSED],
  ["InvalidSignatureException", CREDENTIALS_REFUSED],
  ["SignatureDoesNotMatch", CREDENTIALS_REFUSED],
  ["IncompleteSignature", CREDENTIALS_REFUSED],
  ["IncompleteSignatureException", CREDENTIALS_REFUSED],
  ["MissingAuthenticationTokenException", CREDENTIALS_REFUSED],
  ["MissingAuthenticationToken", CREDENTIALS_REFUSED],
  ["AuthFailure", CREDENTIALS_REFUSED],
  ["RequestExpired", CREDENTIALS_REFUSED],
  ["RequestInTheFuture", CREDENTIALS_REFUSED],
  ["RequestTimeTooSkewed", CREDENTIALS_REFUSED],
  ["CredentialsProviderError", NO_CREDENTIALS],
  ["TokenProviderError", NO_CREDENTIALS],
  ["ProviderError", NO_CREDENTIALS],
  ["InvalidIdentityToken", NO_CREDENTIALS],
  ["InvalidIdentityTokenException", NO_CREDENTIALS],
  ["IDPRejectedClaim", NO_CREDENTIALS],
  ["IDPRejectedClaimException", NO_CREDENTIALS],
  ["IDPCommunicationError", UNAVAILABLE],
  ["IDPCommunicationErrorException", UNAVAILABLE],
]);

/** Rows by the `code` of a system error. The SDK calls a reset connection a TimeoutError, so its code says more. */
const BY_SYSTEM_CODE: ReadonlyMap<string, Row> = new Map([
  ["ETIMEDOUT", NO_ANSWER],
  ["ESOCKETTIMEDOUT", NO_ANSWER],
  ["ERR_SOCKET_CONNECTION_TIMEOUT", NO_ANSWER],
  ["UND_ERR_CONNECT_TIMEOUT", NO_ANSWER],
  ["UND_ERR_HEADERS_TIMEOUT", NO_ANSWER],
  ["UND_ERR_BODY_TIMEOUT", NO_ANSWER],
  ["ECONNRESET", CUT],
  ["EPIPE", CUT],
  ["ECONNABORTED", CUT],
  ["ERR_SOCKET_CLOSED", CUT],
  ["ERR_STREAM_DESTROYED", CUT],
  ["ERR_STREAM_PREMATURE_CLOSE", CUT],
  ["UND_ERR_SOCKET", CUT],
  // Only credentials are put into headers unchanged. They may come with a line end from a variable or a file.
  [
    "ERR_INVALID_CHAR",
    { code: "access_denied", text: "the credentials contain a character that is not allowed in an HTTP header" },
  ],
  [
    "ERR_INVALID_PROTOCOL",
    { code: "invalid_argument", text: "the agent is for http and the endpoint for https, or the other way around" },
  ],
  ["ECONNREFUSED", { code: "unavailable", text: "the connection was refused" }],
  // From an agent of Node with the option proxyEnv, whatever the proxy's answer is.
  ["ERR_PROXY_TUNNEL", NO_TUNNEL],
]);

// Node: ENOTFOUND, EAI_AGAIN, EHOSTUNREACH. And HTTP/2.
const CONNECTION_CODE = /^E(?!RR_)[A-Z_]+$|^ERR_HTTP2_/;

/** Whether other credentials, or the same ones with a corrected clock, may be accepted. */
export function isCredentialRefusal(error: unknown): boolean {
  return BY_NAME.get(nameOf(error)) === CREDENTIALS_REFUSED;
}

/** Whether the connection is dead: the other side cut it, or did not answer. */
export function isConnectionLoss(error: unknown): boolean {
  const row = bySystemError(error) ?? byClientName(nameOf(error));
  return row === CUT || row === NO_ANSWER;
}

/** Whether a system error says that the other side is unreachable or did not answer. */
export function isUnreachable(error: unknown): boolean {
  const code = bySystemError(error)?.code;
  return code === "unavailable" || code === "timeout";
}

/** Whether this error code of the service has a row. */
export function isKnownName(name: string): boolean {
  return BY_NAME.has(name);
}

/** The row for the error of a call. */
export function classify(error: unknown): Row {
  return (
    byState(error) ??
    BY_NAME.get(nameOf(error)) ??
    bySystemError(error) ??
    byClientName(nameOf(error)) ??
    byProxy(error) ??
    byStatus(error) ??
    // A client that uses fetch only says that it failed, and has the reason as the cause.
    bySystemError(memberOf(error, "cause")) ??
    UNKNOWN
  );
}

/**
 * KMS names the state only in the message of a KMSInvalidStateException ("arn:… is pending deletion."):
 * https://docs.aws.amazon.com/kms/latest/developerguide/key-state.html
 */
const BY_STATE: readonly (readonly [state: RegExp, row: Row])[] = [
  [
    /\bis creating\b|\bbeing created\b|\bin state creating\b/i,
    { code: "unavailable", text: "the key is still being created" },
  ],
  [
    /\bpending (?:replica )?deletion\b|\bPending(?:Replica)?Deletion\b/i,
    { code: "key_disabled", text: "the key is pending deletion" },
  ],
  [
    /\bpending import\b|\bPendingImport\b/i,
    { code: "key_disabled", text: "the key has no key material yet (pending import)" },
  ],
];

function byState(error: unknown): Row | undefined {
  if (nameOf(error) !== "KMSInvalidStateException") return undefined;
  const message = textMember(error, "message");
  return BY_STATE.find(([state]) => state.test(message))?.[1];
}

function bySystemError(error: unknown): Row | undefined {
  const code = memberOf(error, "code");
  if (typeof code !== "string") return undefined;
  if (memberOf(error, "syscall") === "open" || code === "EISDIR") return unreadableFile(code, memberOf(error, "path"));
  // Node's HTTP parser.
  if (code.startsWith("HPE_")) return { code: "unavailable", text: "something other than AWS answered" };
  return BY_SYSTEM_CODE.get(code) ?? (CONNECTION_CODE.test(code) || isTlsCode(code) ? UNREACHABLE : undefined);
}

const PATH = /^(?:\/[\w.@+-]{1,64}){1,16}$/;

/** Codes for a file that may be readable later: too many files are open, or the disk or its server fails. */
const PASSES = /^E(?:[MN]FILE|IO|STALE)$/;

/** Only credentials are read from files: the token of a web identity or of a container. */
function unreadableFile(code: string, path: unknown): Row {
  // Someone may have given the token instead of its file. So only what is clearly a path is shown.
  const file = typeof path === "string" && PATH.test(path) ? `the file ${path} cannot be read: ` : "";
  const text = `${NO_CREDENTIALS.text}: ${file}${code}`;
  return { code: PASSES.test(code) ? "unavailable" : NO_CREDENTIALS.code, text };
}

/** The row for an answer that the SDK could not read, or with an unknown code: a proxy's page, a new error. */
function byStatus(error: unknown): Row | undefined {
  const status = memberOf(memberOf(error, "$metadata"), "httpStatusCode");
  if (typeof status !== "number") return undefined;
  if (status === 200) return { code: "integrity", text: "the answer is truncated or is not from KMS", transient: true };
  if (status === 429) return THROTTLED;
  if (status === 401 || status === 403) return { code: "access_denied", text: `refused with HTTP status ${status}` };
  if (status === 408 || status === 504) return NO_ANSWER;
  if (status >= 500) return { ...UNAVAILABLE, text: `${UNAVAILABLE.text}: HTTP status ${status}` };
  if (status === 400 || (status > 400 && isOfService(error)))
    return { ...REFUSED, text: `${REFUSED.text} with HTTP status ${status}` };
  return { code: "unavailable", text: `something other than AWS answered: HTTP status ${status}` };
}

/**
 * The names of errors for an answer without an error code, of the SDK and of our own transport. Each service sends one. NotFound is
 * the SDK's name for each 404 to a call of STS, which never answers so.
 */
const WITHOUT_CODE = /^(?:SyntaxError|Unknown(?:Error)?|NotFound)$/;

function isOfService(error: unknown): boolean {
  return !WITHOUT_CODE.test(nameOf(error));
}

/** The client's own errors: its timeouts, and an abort by another party, such as an owner who shut the client down. */
function byClientName(name: string): Row | undefined {
  if (name === "TimeoutError") return NO_ANSWER;
  if (name === "AbortError") return { code: "unavailable", text: "the client ended the call" };
  return undefined;
}

/**
 * What `https-proxy-agent` says, without a code, of a proxy that closed the connection or gave no usable answer, and `hpagent` of
 * one that refused or did not answer.
 */
const SAYS_NO_TUNNEL =
  /^(?:(?:Proxy connection ended before receiving|No header received from proxy|Invalid header from proxy) CONNECT response|Bad response: \d{3}$|Proxy timeout$)/;

function byProxy(error: unknown): Row | undefined {
  return SAYS_NO_TUNNEL.test(textMember(error, "message")) ? NO_TUNNEL : undefined;
}

export function nameOf(error: unknown): string {
  const name = memberOf(error, "name");
  return typeof name === "string" ? name : "";
}
