import { memberOf, textMember } from "@signpost/core/adapter";
import { isMetadataKnown, lastRenewal, type SourceRequest } from "./credential-requests.ts";
import { classify, isUnreachable, nameOf, NO_CREDENTIALS, type Row } from "./error-table.ts";

/** Says why there are no credentials. Its `cause` is the SDK's error. */
export class CredentialsError extends Error {
  /** Name of the class. */
  override readonly name = "CredentialsError";
  /** The code and the text for the call. */
  readonly row: Row;

  constructor(row: Row, cause: unknown) {
    super(row.text, { cause });
    this.row = row;
  }
}

/** The SDK's errors about a source of credentials. */
const PROVIDER_ERRORS: ReadonlySet<string> = new Set([
  "CredentialsProviderError",
  "TokenProviderError",
  "ProviderError",
  "InstanceMetadataV1FallbackError",
]);

/** Whether the SDK says that a source gave no credentials. */
function isProviderError(error: unknown, last: SourceRequest | undefined): boolean {
  if (PROVIDER_ERRORS.has(nameOf(error))) return true;
  // After an https endpoint of a container on this machine has failed, the SDK asks it with Node's http.
  return last?.source === "container" && memberOf(error, "code") === "ERR_INVALID_PROTOCOL";
}

/** Matches a lost connection in a message, for errors of the SDK that keep nothing else. */
const CONNECTION_LOST =
  /\bE(?:CONN[A-Z]+|TIMEDOUT|PIPE|HOSTUNREACH|NETUNREACH|AI_AGAIN)\b|\bENOTFOUND\b|socket hang up|TimeoutError/;
/** Matches the transient errors of SSO and STS. */
const SERVICE_DOWN = /^(?:Error: )?(?:Internal|ServiceUnavailable|TooManyRequests|Throttl|RequestTimeout|SyntaxError)/;
const unreachable = (last: SourceRequest | undefined): Row => ({
  code: "unavailable",
  text: `${NO_CREDENTIALS.text}: ${nameOfSource(last)} is unreachable`,
});

/** How messages call the source that was asked last. */
export function nameOfSource(last: SourceRequest | undefined): string {
  return last?.origin === undefined ? "their source" : `their source, ${last.origin},`;
}

/** How Node and the SDK say that an answer is not JSON. */
const UNREADABLE = /\bJSON\b|^SyntaxError/;
/** Node's codes for a role or a token of the metadata service that cannot be put into a path or a header. */
const NOT_SENDABLE = /^ERR_(?:UNESCAPED_CHARACTERS|INVALID_CHAR)$/;
/**
 * The SDK's messages for an answer of STS or SSO with status 200 and no credentials. Neither service refuses like this.
 */
const WITHOUT_CREDENTIALS = /^Invalid response from STS\.|^SSO returns an invalid temporary credential/;
/** The SDK's message for a token of SSO that it could not renew, or tried to renew just before. */
const SESSION_OVER = /^Token is expired\./;
const UNREADABLE_ANSWER: Row = {
  code: "unavailable",
  text: `${NO_CREDENTIALS.text}: the answer of their source is unreadable`,
};

/** Says why there are no credentials. `last` is the last request that was made for them. */
export function credentialsErrorFrom(error: unknown, last: SourceRequest | undefined): CredentialsError {
  if (error instanceof CredentialsError) return error;
  return new CredentialsError(sourceRow(error, last) ?? serviceRow(error), error);
}

/** Like `providerRow`, and also covers an unreadable answer, for which the SDK throws the error of its parser. */
export function sourceRow(error: unknown, last: SourceRequest | undefined): Row | undefined {
  const asked = last ?? (SESSION_OVER.test(textMember(error, "message")) ? lastRenewal() : undefined);
  return isUnreadable(error, asked) ? UNREADABLE_ANSWER : providerRow(error, asked);
}

/** Whether a source's answer is not JSON or has no credentials, because it is truncated or a proxy's page. */
function isUnreadable(error: unknown, last: SourceRequest | undefined): boolean {
  const message = textMember(error, "message");
  if (WITHOUT_CREDENTIALS.test(message)) return true;
  // An answer of KMS itself has its metadata on the error.
  if (last?.status === undefined || last.status >= 300 || memberOf(error, "$metadata") !== undefined) return false;
  if (nameOf(error) === "SyntaxError" || UNREADABLE.test(message)) return true;
  // None of these services answers 200 if it refuses. The sign-in service's answer is not in the error.
  if (last.source === "sso") return isProviderError(error, last);
  return last.source === "metadata" && NOT_SENDABLE.test(textMember(error, "code"));
}

/**
 * The row of an SDK error about a source of credentials. It is transient if a configured source is down or answers 5xx.
 * It is not transient if there is no source, or if one refuses. Undefined for any other error.
 */
export function providerRow(error: unknown, last: SourceRequest | undefined): Row | undefined {
  if (!isProviderError(error, last)) return undefined;
  const { source, status, response } = last ?? {};
  if (status !== undefined && status >= 300) return byStatus(status, last);
  if (last !== undefined && (status === undefined || memberOf(response, "complete") === false)) {
    return source !== "metadata" || isMetadataKnown() ? unreachable(last) : NO_CREDENTIALS;
  }
  return isDownByMessage(error) ? unreachable(undefined) : NO_CREDENTIALS;
}

/** For STS, whose errors arrive unchanged. Transient errors keep their code, and all others are refusals. */
function serviceRow(error: unknown): Row {
  const { code, text, transient } = classify(error);
  if (code === "integrity" && transient === true) return UNREADABLE_ANSWER;
  const passes = code === "unavailable" || code === "throttled" || code === "timeout";
  const told = text.startsWith(NO_CREDENTIALS.text) ? text : `${NO_CREDENTIALS.text}: ${text}`;
  return { code: passes ? code : "access_denied", text: told };
}

/** For a source that is not watched, or whose answer did not help. It is configured, since the SDK asked it. */
function isDownByMessage(error: unknown): boolean {
  const message = textMember(error, "message");
  return isUnreachable(error) || CONNECTION_LOST.test(message) || SERVICE_DOWN.test(message);
}

/** A time-out, and the word of a proxy, from which redirects come too. They say nothing about the credentials. */
const PASSES: ReadonlySet<number> = new Set([407, 408]);

function byStatus(status: number, last: SourceRequest | undefined): Row {
  const text = `${NO_CREDENTIALS.text}: ${nameOfSource(last)} answered HTTP status ${status}`;
  if (status === 429) return { code: "throttled", text };
  return { code: status < 400 || PASSES.has(status) || status >= 500 ? "unavailable" : "access_denied", text };
}
