import { SignerError, type SignerErrorCode } from "@signpost/core";
import { safeCause } from "./safe-cause.ts";

interface Row {
  readonly code: SignerErrorCode;
  /** What follows "kms:Sign failed: ". */
  readonly text: string;
  readonly transient?: boolean | undefined;
}

const THROTTLED: Row = { code: "throttled", text: "over a request quota" };
const UNAVAILABLE: Row = { code: "unavailable", text: "the service cannot serve for now" };
const UNREACHABLE: Row = { code: "unavailable", text: "the service cannot be reached" };
const NO_ANSWER: Row = { code: "timeout", text: "no answer in time" };
const CREDENTIALS_REFUSED: Row = { code: "access_denied", text: "the credentials are expired or refused" };
const NO_CREDENTIALS: Row = { code: "access_denied", text: "no credentials could be had" };
const REFUSED: Row = { code: "invalid_argument", text: "the service refuses the request" };

/**
 * By the service's error code, the SDK's `name`:
 * https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html and CommonErrors.html beside it.
 */
const BY_NAME: ReadonlyMap<string, Row> = new Map([
  ["ThrottlingException", THROTTLED],
  ["Throttling", THROTTLED],
  ["TooManyRequestsException", THROTTLED],
  ["RequestLimitExceeded", THROTTLED],
  ["LimitExceededException", { code: "throttled", text: "over a quota of the service" }],

  ["KMSInternalException", UNAVAILABLE],
  ["InternalFailure", UNAVAILABLE],
  ["InternalFailureException", UNAVAILABLE],
  ["ServiceUnavailable", UNAVAILABLE],
  ["ServiceUnavailableException", UNAVAILABLE],
  ["KeyUnavailableException", { code: "unavailable", text: "the key is not available for now" }],
  ["DependencyTimeoutException", { code: "timeout", text: "a part of the service did not answer in time" }],

  ["NotFoundException", { code: "key_not_found", text: "there is no such key in this account and Region" }],
  ["DisabledException", { code: "key_disabled", text: "the key is disabled" }],
  // Of an asymmetric key: pending deletion, or a replica that is being created or deleted.
  ["KMSInvalidStateException", { code: "key_disabled", text: "the key's state does not allow it (pending deletion)" }],
  ["InvalidKeyUsageException", { code: "unsupported_key", text: "the key is not one that signs with ECDSA_SHA_256" }],
  ["UnsupportedOperationException", { code: "unsupported_key", text: "the key has no public key" }],
  ["InvalidArnException", { code: "invalid_argument", text: "the service refuses the ARN" }],
  ["ValidationException", REFUSED],
  ["DryRunOperationException", REFUSED],

  ["AccessDeniedException", { code: "access_denied", text: "not allowed by the key policy or an IAM policy" }],
  ["AccessDenied", { code: "access_denied", text: "not allowed by a policy" }],
  ["NotAuthorized", { code: "access_denied", text: "not allowed by a policy" }],
  ["OptInRequired", { code: "access_denied", text: "the account is not subscribed to the service" }],
  ["InvalidGrantTokenException", { code: "access_denied", text: "the grant token is refused" }],
  ["ExpiredTokenException", CREDENTIALS_REFUSED],
  ["ExpiredToken", CREDENTIALS_REFUSED],
  ["UnrecognizedClientException", CREDENTIALS_REFUSED],
  ["InvalidClientTokenId", CREDENTIALS_REFUSED],
  ["InvalidSignatureException", CREDENTIALS_REFUSED],
  ["SignatureDoesNotMatch", CREDENTIALS_REFUSED],
  ["IncompleteSignature", CREDENTIALS_REFUSED],
  ["MissingAuthenticationTokenException", CREDENTIALS_REFUSED],
  ["MissingAuthenticationToken", CREDENTIALS_REFUSED],
  ["RequestExpired", CREDENTIALS_REFUSED],
  ["CredentialsProviderError", NO_CREDENTIALS],
  ["TokenProviderError", NO_CREDENTIALS],
]);

/** By the system error's `code`. The SDK calls a reset connection a TimeoutError: the code says it better. */
const BY_SYSTEM_CODE: ReadonlyMap<string, Row> = new Map([
  ["ETIMEDOUT", NO_ANSWER],
  ["ESOCKETTIMEDOUT", NO_ANSWER],
  ["ECONNRESET", { code: "unavailable", text: "the connection was cut" }],
  ["EPIPE", { code: "unavailable", text: "the connection was cut" }],
  ["ECONNABORTED", { code: "unavailable", text: "the connection was cut" }],
  ["ECONNREFUSED", { code: "unavailable", text: "the connection was refused" }],
]);

/**
 * The one table from what a KMS call rejects with to our codes: a pure function. `operation` is the call's name in
 * policies, `kms:Sign`.
 */
export function signerErrorFromKms(error: unknown, operation: string): SignerError {
  if (error instanceof SignerError) return error;
  const { code, text, transient } = classify(error);
  const name = error instanceof Error && BY_NAME.has(error.name) ? ` (${error.name})` : "";
  return new SignerError(code, `${operation} failed: ${text}${name}`, { cause: safeCause(error), transient });
}

/** Whether other credentials, or the same with a corrected clock, may be accepted. */
export function isCredentialRefusal(error: unknown): boolean {
  return error instanceof Error && BY_NAME.get(error.name) === CREDENTIALS_REFUSED;
}

function classify(error: unknown): Row {
  if (!(error instanceof Error)) return { code: "integrity", text: "the client failed in an unknown way" };
  return (
    BY_NAME.get(error.name) ??
    bySystemCode(error) ??
    byClientName(error) ??
    byStatus(error) ?? { code: "integrity", text: "the client failed in an unknown way" }
  );
}

function bySystemCode(error: Error): Row | undefined {
  const code: unknown = Reflect.get(error, "code");
  if (typeof code !== "string") return undefined;
  // Of Node: ENOTFOUND, EAI_AGAIN, EHOSTUNREACH, and of TLS: CERT_HAS_EXPIRED, ERR_TLS_CERT_ALTNAME_INVALID.
  const isConnection = /^E(?!RR_)[A-Z_]+$/.test(code) || /^ERR_(?:TLS|SSL)_|CERT|SIGNATURE$/.test(code);
  return BY_SYSTEM_CODE.get(code) ?? (isConnection ? UNREACHABLE : undefined);
}

/** Of an answer that the SDK could not read, or without a code that we know: a proxy's page, an error that is new. */
function byStatus(error: Error): Row | undefined {
  const status = statusOf(error);
  if (status === undefined) return undefined;
  if (status === 200) return { code: "integrity", text: "the answer is cut off or not of KMS", transient: true };
  if (status === 429) return THROTTLED;
  if (status === 401 || status === 403) return { code: "access_denied", text: `refused with HTTP status ${status}` };
  if (status === 408 || status === 504) return NO_ANSWER;
  if (status >= 500) return { ...UNAVAILABLE, text: `${UNAVAILABLE.text}: HTTP status ${status}` };
  if (status >= 400) return { ...REFUSED, text: `${REFUSED.text} with HTTP status ${status}` };
  return { code: "unavailable", text: `something else than KMS answered: HTTP status ${status}` };
}

/** The client's own: its time limits, and an abort that was not ours (a client that its owner shut down). */
function byClientName(error: Error): Row | undefined {
  if (error.name === "TimeoutError") return NO_ANSWER;
  if (error.name === "AbortError") return { code: "unavailable", text: "the client ended the call" };
  return undefined;
}

function statusOf(error: Error): number | undefined {
  const metadata: unknown = Reflect.get(error, "$metadata");
  if (typeof metadata !== "object" || metadata === null) return undefined;
  const status: unknown = Reflect.get(metadata, "httpStatusCode");
  return typeof status === "number" ? status : undefined;
}
