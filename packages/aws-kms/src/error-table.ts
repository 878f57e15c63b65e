import type { SignerErrorCode } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";

/** What an error means. */
export interface Row {
  readonly code: SignerErrorCode;
  /** What follows "kms:Sign failed: ". */
  readonly text: string;
  readonly transient?: boolean | undefined;
}

const THROTTLED: Row = { code: "throttled", text: "over a request quota" };
const UNAVAILABLE: Row = { code: "unavailable", text: "the service cannot serve for now" };
const UNREACHABLE: Row = { code: "unavailable", text: "the service cannot be reached" };
const CUT: Row = { code: "unavailable", text: "the connection was cut" };
const NO_ANSWER: Row = { code: "timeout", text: "no answer in time" };
export const CREDENTIALS_REFUSED: Row = {
  code: "access_denied",
  text: "the credentials are expired or refused, or this machine's clock is off",
};
export const NO_CREDENTIALS: Row = { code: "access_denied", text: "no credentials could be had" };
const NOT_ALLOWED: Row = { code: "access_denied", text: "not allowed by a policy" };
const REFUSED: Row = { code: "invalid_argument", text: "the service refuses the request" };
const UNKNOWN: Row = { code: "integrity", text: "the client failed in an unknown way" };

/**
 * By the service's error code, the SDK's `name`:
 * https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html and CommonErrors.html, the other names
 * under which services throttle and refuse signatures, and those of STS, where credentials come from.
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
  ["KeyUnavailableException", { code: "unavailable", text: "the key is not available for now" }],
  ["RequestAbortedException", CUT],
  ["DependencyTimeoutException", { code: "timeout", text: "a part of the service did not answer in time" }],
  ["RequestTimeout", NO_ANSWER],
  ["RequestTimeoutException", NO_ANSWER],

  ["NotFoundException", { code: "key_not_found", text: "there is no such key" }],
  ["DisabledException", { code: "key_disabled", text: "the key is disabled" }],
  ["KMSInvalidStateException", { code: "key_disabled", text: "the key's state does not allow it" }],
  ["InvalidKeyUsageException", { code: "unsupported_key", text: "the key is not one that signs with ECDSA_SHA_256" }],
  ["UnsupportedOperationException", { code: "unsupported_key", text: "the key has no public key" }],
  ["InvalidArnException", { code: "invalid_argument", text: "the service refuses the ARN" }],
  ["ValidationException", REFUSED],
  // Of a client of the caller's: an endpoint together with a setting for FIPS or dual-stack endpoints.
  [
    "EndpointError",
    { code: "invalid_argument", text: "the client's settings of endpoint, FIPS and dual-stack do not fit" },
  ],
  ["DryRunOperationException", REFUSED],

  ["AccessDeniedException", { code: "access_denied", text: "not allowed by the key policy or an IAM policy" }],
  ["AccessDenied", NOT_ALLOWED],
  ["NotAuthorized", NOT_ALLOWED],
  ["OptInRequired", { code: "access_denied", text: "the account is not subscribed to the service" }],
  ["InvalidGrantTokenException", { code: "access_denied", text: "the grant token is refused" }],
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

/** By the system error's `code`. The SDK calls a reset connection a TimeoutError: the code says it better. */
const BY_SYSTEM_CODE: ReadonlyMap<string, Row> = new Map([
  ["ETIMEDOUT", NO_ANSWER],
  ["ESOCKETTIMEDOUT", NO_ANSWER],
  ["UND_ERR_CONNECT_TIMEOUT", NO_ANSWER],
  ["UND_ERR_HEADERS_TIMEOUT", NO_ANSWER],
  ["UND_ERR_BODY_TIMEOUT", NO_ANSWER],
  ["ECONNRESET", CUT],
  ["EPIPE", CUT],
  ["ECONNABORTED", CUT],
  ["ERR_STREAM_PREMATURE_CLOSE", CUT],
  ["UND_ERR_SOCKET", CUT],
  // Nothing but credentials is put into headers as it was found: a line end behind a variable or in a file.
  [
    "ERR_INVALID_CHAR",
    { code: "access_denied", text: "the credentials hold a character that no HTTP header may have" },
  ],
  ["ECONNREFUSED", { code: "unavailable", text: "the connection was refused" }],
]);

// Of Node: ENOTFOUND, EAI_AGAIN, EHOSTUNREACH. Of TLS: CERT_HAS_EXPIRED, ERR_TLS_CERT_ALTNAME_INVALID. Of HTTP/2.
const CONNECTION_CODE = /^E(?!RR_)[A-Z_]+$|^ERR_(?:TLS|SSL|HTTP2)_|CERT|SIGNATURE$/;

/** Whether other credentials, or the same with a corrected clock, may be accepted. */
export function isCredentialRefusal(error: unknown): boolean {
  return BY_NAME.get(nameOf(error)) === CREDENTIALS_REFUSED;
}

/** Whether a connection turned out to be dead: cut by the other side, or without an answer. */
export function isConnectionLoss(error: unknown): boolean {
  const row = bySystemError(error) ?? byClientName(nameOf(error));
  return row === CUT || row === NO_ANSWER;
}

/** Whether a system error says that the other side cannot be reached, or did not answer. */
export function isUnreachable(error: unknown): boolean {
  const code = bySystemError(error)?.code;
  return code === "unavailable" || code === "timeout";
}

/** Whether the service answered with an error code that has its row here. */
export function isKnownName(name: string): boolean {
  return BY_NAME.has(name);
}

/** The row of what a call rejects with. */
export function classify(error: unknown): Row {
  return (
    byState(error) ??
    BY_NAME.get(nameOf(error)) ??
    bySystemError(error) ??
    byClientName(nameOf(error)) ??
    byStatus(error) ??
    // Of a client over fetch, which only says that it failed.
    bySystemError(memberOf(error, "cause")) ??
    UNKNOWN
  );
}

/**
 * KMS names the state in the message of a KMSInvalidStateException alone ("arn:… is pending deletion."):
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
  const message = String(memberOf(error, "message"));
  return BY_STATE.find(([state]) => state.test(message))?.[1];
}

function bySystemError(error: unknown): Row | undefined {
  const code = memberOf(error, "code");
  if (typeof code !== "string") return undefined;
  if (memberOf(error, "syscall") === "open" || code === "EISDIR") return unreadableFile(code);
  // Node's HTTP parser.
  if (code.startsWith("HPE_")) return { code: "unavailable", text: "something else than KMS answered" };
  return BY_SYSTEM_CODE.get(code) ?? (CONNECTION_CODE.test(code) ? UNREACHABLE : undefined);
}

/** Of a file that may be readable in a moment: too many are open, or the disk or its server fails. */
const PASSES = /^E(?:[MN]FILE|IO|STALE)$/;

/** Nothing but credentials is read from files: a web identity's token, that of a container. */
function unreadableFile(code: string): Row {
  return { code: PASSES.test(code) ? "unavailable" : NO_CREDENTIALS.code, text: `${NO_CREDENTIALS.text}: ${code}` };
}

/** Of an answer that the SDK could not read, or without a code that we know: a proxy's page, an error that is new. */
function byStatus(error: unknown): Row | undefined {
  const status = memberOf(memberOf(error, "$metadata"), "httpStatusCode");
  if (typeof status !== "number") return undefined;
  if (status === 200) return { code: "integrity", text: "the answer is cut off or not of KMS", transient: true };
  if (status === 429) return THROTTLED;
  if (status === 401 || status === 403) return { code: "access_denied", text: `refused with HTTP status ${status}` };
  if (status === 408 || status === 504) return NO_ANSWER;
  if (status >= 500) return { ...UNAVAILABLE, text: `${UNAVAILABLE.text}: HTTP status ${status}` };
  if (status >= 400) return { ...REFUSED, text: `${REFUSED.text} with HTTP status ${status}` };
  return { code: "unavailable", text: `something else than KMS answered: HTTP status ${status}` };
}

/** The client's own: its time limits, and an abort that was not ours (a client that its owner shut down). */
function byClientName(name: string): Row | undefined {
  if (name === "TimeoutError") return NO_ANSWER;
  if (name === "AbortError") return { code: "unavailable", text: "the client ended the call" };
  return undefined;
}

export function nameOf(error: unknown): string {
  const name = memberOf(error, "name");
  return typeof name === "string" ? name : "";
}
