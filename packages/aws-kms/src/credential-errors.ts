import { memberOf } from "@signpost/core/adapter";
import { isMetadataKnown, type SourceRequest } from "./credential-requests.ts";
import { classify, isUnreachable, nameOf, NO_CREDENTIALS, type Row } from "./error-table.ts";

/** Why there are no credentials. Its `cause` is what the SDK threw. */
export class CredentialsError extends Error {
  /** Name of the class. */
  override readonly name = "CredentialsError";
  /** What it means for the call. */
  readonly row: Row;

  constructor(row: Row, cause: unknown) {
    super(row.text, { cause });
    this.row = row;
  }
}

/** What the SDK throws in the name of a source of credentials. */
const PROVIDER_ERRORS: ReadonlySet<string> = new Set([
  "CredentialsProviderError",
  "TokenProviderError",
  "ProviderError",
]);

/** How a lost connection is told in a message, where the SDK keeps nothing else of it. */
const CONNECTION_LOST =
  /\bE(?:CONN[A-Z]+|TIMEDOUT|PIPE|HOSTUNREACH|NETUNREACH|AI_AGAIN)\b|\bENOTFOUND\b|socket hang up|TimeoutError/;
/** How errors of SSO and STS that pass are called. */
const SERVICE_DOWN = /^(?:Error: )?(?:Internal|ServiceUnavailable|TooManyRequests|Throttl|RequestTimeout|SyntaxError)/;
const UNREACHABLE_SOURCE: Row = {
  code: "unavailable",
  text: `${NO_CREDENTIALS.text}: their source cannot be reached`,
};

/** How Node and the SDK tell that an answer is no JSON. */
const UNREADABLE = /\bJSON\b|^SyntaxError/;
/** Node's codes for a role or a token of the metadata service that fits no path and no header. */
const NOT_SENDABLE = /^ERR_(?:UNESCAPED_CHARACTERS|INVALID_CHAR)$/;
/** The SDK's words for an answer of STS or SSO with status 200 that has none. Neither refuses in this way. */
const WITHOUT_CREDENTIALS = /^Invalid response from STS\.|^SSO returns an invalid temporary credential/;
const UNREADABLE_ANSWER: Row = {
  code: "unavailable",
  text: `${NO_CREDENTIALS.text}: the answer of their source cannot be read`,
};

/** Says why there are no credentials. `last` is the last request that was made for them. */
export function credentialsErrorFrom(error: unknown, last: SourceRequest | undefined): CredentialsError {
  if (error instanceof CredentialsError) return error;
  return new CredentialsError(sourceRow(error, last) ?? serviceRow(error), error);
}

/** As `providerRow`, and for an answer that cannot be read, of which the SDK throws what its parser did. */
export function sourceRow(error: unknown, last: SourceRequest | undefined): Row | undefined {
  return isUnreadable(error, last) ? UNREADABLE_ANSWER : providerRow(error, last);
}

/** Whether what a source gave was no JSON or held no credentials: it was cut, or is the page of a proxy. */
function isUnreadable(error: unknown, last: SourceRequest | undefined): boolean {
  const message = String(memberOf(error, "message"));
  if (WITHOUT_CREDENTIALS.test(message)) return true;
  // An answer of KMS itself has its metadata on the error.
  if (last?.status === undefined || last.status >= 300 || memberOf(error, "$metadata") !== undefined) return false;
  if (nameOf(error) === "SyntaxError" || UNREADABLE.test(message)) return true;
  return last.source === "metadata" && NOT_SENDABLE.test(String(memberOf(error, "code")));
}

/**
 * The row of an error that the SDK throws in the name of a source of credentials. A source that is configured and down, or
 * that answers 5xx, passes. Without any source, and where one refuses, nothing passes. Undefined for another error.
 */
export function providerRow(error: unknown, last: SourceRequest | undefined): Row | undefined {
  if (!PROVIDER_ERRORS.has(nameOf(error))) return undefined;
  const { source, status } = last ?? {};
  if (status !== undefined && status >= 300) return byStatus(status);
  if (last !== undefined && status === undefined) {
    return source !== "metadata" || isMetadataKnown() ? UNREACHABLE_SOURCE : NO_CREDENTIALS;
  }
  return isDownByMessage(error) ? UNREACHABLE_SOURCE : NO_CREDENTIALS;
}

/** Of STS, whose errors come as they are: what passes stays what it is, and the rest is a refusal. */
function serviceRow(error: unknown): Row {
  const { code, text, transient } = classify(error);
  if (code === "integrity" && transient === true) return UNREADABLE_ANSWER;
  const passes = code === "unavailable" || code === "throttled" || code === "timeout";
  const told = text.startsWith(NO_CREDENTIALS.text) ? text : `${NO_CREDENTIALS.text}: ${text}`;
  return { code: passes ? code : "access_denied", text: told };
}

/** Of a source that is not watched or whose answer was no help, and that was configured, since the SDK asked it. */
function isDownByMessage(error: unknown): boolean {
  const message = String(memberOf(error, "message"));
  return isUnreachable(error) || CONNECTION_LOST.test(message) || SERVICE_DOWN.test(message);
}

function byStatus(status: number): Row {
  const text = `${NO_CREDENTIALS.text}: their source answers HTTP status ${status}`;
  if (status === 429) return { code: "throttled", text };
  // A redirection is of something that stands before the source.
  return { code: status < 400 || status === 408 || status >= 500 ? "unavailable" : "access_denied", text };
}
