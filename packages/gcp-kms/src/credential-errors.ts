import { ConfigurationError, SignerError, type SignerErrorCode } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import type { SourceRequest } from "./credential-requests.ts";
import {
  failingFileCode,
  isClosedClient,
  isNoJson,
  isRedirectError,
  isUnanswered,
  isUnreadableCode,
  messageOf,
  networkCode,
  sourceCauseOf,
  type CallSubject,
} from "./client-error.ts";
import { InsecureSourceError } from "./secure-sources.ts";
import { authorizationIn } from "./sent-token.ts";

// Errors of the search for credentials, before a call is made. A configured source that does not answer is an outage,
// so the error is transient. It is not transient if there is no source, if a source refuses, or if a file cannot be
// used.

interface Failure {
  readonly code: SignerErrorCode;
  readonly text: string;
}

/**
 * The error for missing credentials. It names the host that was asked, and never contains the request or the answer.
 */
export function credentialsError(error: unknown, { action, name }: CallSubject): SignerError {
  if (error instanceof SignerError) return error;
  const { code, text } = classify(error);
  return new SignerError(code, `cannot ${action} ${name}: ${text}`, { cause: sourceCauseOf(error) });
}

/** The error for credentials that did not arrive in time, if the last request is known. */
export function lateError(
  last: SourceRequest | undefined,
  { action, name }: CallSubject,
  message: string,
): SignerError | undefined {
  if (last === undefined) return undefined;
  const { origin, status } = last;
  if (status === undefined) return new SignerError("timeout", `${message}: ${origin} did not answer`);
  if (status < 300) return undefined;
  const { code, text } = answered(status, sourceAt(origin));
  return new SignerError(code, `cannot ${action} ${name}: ${text}`);
}

function classify(error: unknown): Failure {
  const message = messageOf(error);
  if (isClosedClient(error)) return { code: "closed", text: "the client is closed" };
  if (message.includes(NO_SOURCE)) return withoutSource();
  if (error instanceof InsecureSourceError || error instanceof ConfigurationError) {
    return { code: "access_denied", text: `no usable Google credentials were found: ${message}` };
  }
  const asked = askedHost(error);
  const code = networkCode(error);
  const isUnreadable = UNREADABLE_ANSWER.test(message) || isRedirectError(error) || isUnreadableCode(code ?? "");
  if (isUnreadable) return { code: "unavailable", text: `${asked} gave an unreadable answer` };
  const status = httpStatus(error);
  if (status !== undefined) return answered(status, asked);
  if (code !== undefined) return { code: "unavailable", text: `${asked} cannot be reached (${code})` };
  if (isUnanswered(error)) return { code: "unavailable", text: `${asked} cannot be reached` };
  const failing = failingFileCode(error);
  if (failing !== undefined) {
    return { code: "unavailable", text: `a file with Google credentials is temporarily unreadable (${failing})` };
  }
  if (isTimeout(error, message)) return { code: "timeout", text: `${asked} did not answer in time` };
  return { code: "access_denied", text: `no usable Google credentials were found${hintFor(error)}` };
}

// The message of google-auth-library when it has found no source.
const NO_SOURCE = "Could not load the default credentials";

/** For an answer with status 200 and no access token. */
const NO_TOKEN = "The answer has no access token";

// The message above, those of google-auth-library, and V8's for an answer that is text or null: a proxy's page, or
// truncated.
const UNREADABLE_ANSWER =
  /^The answer has no access token$|: Token response did not contain an |the subject_token from the credential_source URL|^Invalid response from metadata service|^Cannot (?:create property '\w+' on string|(?:set|read) properties of null)/;

/**
 * Refuses the headers that the SDK makes from an answer without a token. It would send and cache "Bearer undefined".
 */
export function requireToken(headers: unknown): void {
  const authorization = authorizationIn(headers);
  if (authorization !== undefined && /^Bearer(?: undefined| null)?$/.test(authorization)) throw new Error(NO_TOKEN);
}

function withoutSource(): Failure {
  const server = configuredMetadataServer();
  if (server === undefined) {
    const text =
      "no Google credentials were found: no GOOGLE_APPLICATION_CREDENTIALS, no gcloud file, and no metadata server that answers";
    return { code: "access_denied", text };
  }
  return { code: "unavailable", text: `the metadata server ${server}, which the environment names, did not answer` };
}

/** The metadata server in the SDK's variables. */
function configuredMetadataServer(): string | undefined {
  const { GCE_METADATA_IP, GCE_METADATA_HOST } = process.env;
  return GCE_METADATA_IP || GCE_METADATA_HOST || undefined;
}

function answered(status: number, asked: string): Failure {
  const text = `${asked} answered HTTP ${status}`;
  if (status === 429) return { code: "throttled", text };
  if (status === 408 || status === 504) return { code: "timeout", text };
  // 407 comes from a proxy, and says nothing about the credentials.
  if (status >= 500 || status < 400 || status === 407) return { code: "unavailable", text };
  return { code: "access_denied", text: `could not get an access token: ${text}` };
}

/** Scheme, host and port of the request. Its path or query may contain a secret. */
function askedHost(error: unknown): string {
  const url = memberOf(memberOf(error, "config"), "url");
  const text = url instanceof URL ? url.href : typeof url === "string" ? url : "";
  return sourceAt(URL.canParse(text) ? new URL(text).origin : undefined);
}

function sourceAt(origin: string | undefined): string {
  return origin === undefined ? "the source of Google credentials" : `the source of Google credentials, ${origin},`;
}

function httpStatus(error: unknown): number | undefined {
  for (const status of [
    memberOf(error, "status"),
    memberOf(memberOf(error, "response"), "status"),
    memberOf(error, "code"),
  ]) {
    if (typeof status === "number" && status >= 300 && status < 600) return status;
  }
  return undefined;
}

function isTimeout(error: unknown, message: string): boolean {
  const names = [memberOf(error, "name"), memberOf(error, "code"), memberOf(memberOf(error, "cause"), "name")];
  return names.some((name) => name === "AbortError" || name === "TimeoutError") || /\btimed? ?out\b/i.test(message);
}

/** A hint for the operator, if the message of Node or the SDK says what is wrong. */
function hintFor(error: unknown): string {
  if (isNoJson(error)) return ": they are not JSON";
  const message = messageOf(error);
  if (/ENOENT|does not exist/.test(message)) return `: ${missingFile(message)} is missing`;
  if (message.includes("universe domain")) return ": they are for another universe domain than the client";
  if (message.includes("The executable")) return ": the executable that provides them failed";
  if (/DECODER|PEM|asn1|private key/i.test(message)) return ": their private key cannot be read";
  return "";
}

/** The path in a message of Node or the SDK. Only what is clearly a path is shown. */
function missingFile(message: string): string {
  const path = /(?:'|The file at )((?:\/[\w.@+-]{1,64}){1,16})(?:'| does not exist)/.exec(message)?.[1];
  return path === undefined ? "a file" : `the file ${path}`;
}

// grpc-js puts this in front of the message of a source of call credentials.
const PLUGIN = "Getting metadata from plugin failed with error: ";

/**
 * Does the same for the caller's client over gRPC, which asks for the token inside the call. Undefined for any other
 * error. Only the message and a number of the source's error are known.
 */
export function pluginFailure(error: unknown): Failure | undefined {
  const message = messageOf(error);
  const start = message.indexOf(PLUGIN);
  if (start < 0) return undefined;
  const status = httpStatus({ code: memberOf(error, "code") });
  if (status !== undefined) return answered(status, "the source of Google credentials");
  const said = message.slice(start + PLUGIN.length);
  if (said.includes(NO_SOURCE)) return withoutSource();
  const hint = hintFor({ message: said });
  if (hint !== "") return { code: "access_denied", text: `no usable Google credentials were found${hint}` };
  return { code: "unavailable", text: "could not get an access token" };
}
