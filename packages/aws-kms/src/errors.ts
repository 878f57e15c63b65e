import { ConfigurationError, SignerError } from "@signpost/core";
import { memberOf, safeCause, type CauseRules } from "@signpost/core/adapter";
import { CredentialsError, providerRow } from "./credential-errors.ts";
import { classify, isKnownName, nameOf } from "./error-table.ts";
import { looksLikeAlias } from "./key-name.ts";
import { sentSecretsOf } from "./sent-secrets.ts";

/** The key and the Region of a call, for messages. */
export interface CallTarget {
  /** The key, as in the options. */
  readonly key: string;
  /** The ARN of the opened key. */
  readonly keyArn?: string | undefined;
  /** The Region that is called. Undefined if only the caller's transport knows it. */
  readonly region: string | undefined;
}

/**
 * Messages that repeat the request, such as a proxy's answer, or that contain the command and stderr of a
 * credential_process.
 */
const REPEATS = /AWS4-HMAC-SHA256|x-amz-security-token|^Command failed/i;

/** A service that refuses a signature repeats the request with its session token. */
const CAUSE: CauseRules = {
  members: ["code", "$fault", "$metadata"],
  hides: (error, message) => /signature/i.test(nameOf(error)) || REPEATS.test(message) || NO_JSON.test(message),
};

/** V8's messages, which repeat the beginning of an answer. */
const NO_JSON = /is not valid JSON|in JSON at position|Unexpected (?:end of JSON|token|non-whitespace)/;

/** What the SDK says where it has nothing to repeat. */
const OF_SDK =
  /^(?:Could not load credentials from any providers|Unable to find environment variable credentials\.|EC2 Metadata Service access disabled|Token is expired\.)/;

/** For errors of a source of credentials. Its answer, or a function of the caller, may repeat what was sent, or the credentials. */
const SOURCE_CAUSE: CauseRules = { members: CAUSE.members, hides: (_error, message) => !OF_SDK.test(message) };

/** For errors about the SDK's configuration. An endpoint may contain a password. */
const CONFIGURATION_CAUSE: CauseRules = {
  members: ["code"],
  hides: (_error, message) => message.includes("://") || message.startsWith("Region not accepted"),
};

/** The cause of a ConfigurationError, without the configured values. */
export function configurationCause(error: unknown): unknown {
  return safeCause(error, CONFIGURATION_CAUSE);
}

/**
 * A call in a message: `kms:Sign of alias/op-2026 in eu-west-1 (arn:…)`. `operation` is the call's name in policies. The ARN is
 * there because the alias may point to another key by now.
 */
export function describeCall(operation: string, { key, keyArn, region }: CallTarget): string {
  const resolved = keyArn === undefined || keyArn.endsWith(key) ? "" : ` (${keyArn})`;
  return `${operation} of ${key}${region === undefined ? "" : ` in ${region}`}${resolved}`;
}

/** Converts the error of a KMS call to a `SignerError`. */
export function signerErrorFrom(error: unknown, operation: string, target: CallTarget): SignerError {
  if (error instanceof SignerError) return error;
  // A transport may find out in its first call that it cannot be set up.
  if (error instanceof ConfigurationError) {
    return new SignerError("invalid_argument", `${describeCall(operation, target)} failed: ${error.message}`, {
      cause: error,
    });
  }
  const reason = error instanceof CredentialsError ? error.cause : error;
  const row = error instanceof CredentialsError ? error.row : (providerRow(error, undefined) ?? classify(error));
  const { code, text, transient } = row;
  const name = nameOf(reason);
  const told = isKnownName(name) ? ` (${name})` : "";
  const hint = code === "key_not_found" && looksLikeAlias(target.key) ? `; did you mean alias/${target.key}?` : "";
  const message = `${describeCall(operation, target)} failed: ${text}${told}${hint}`;
  const rules = error instanceof CredentialsError ? SOURCE_CAUSE : CAUSE;
  const cause = safeCause(reason, { ...rules, secrets: sentSecretsOf(reason) });
  return new SignerError(code, message, { cause, transient });
}

/** Whether KMS is still creating the key or its replica. */
export function isBeingCreated({ code, cause }: SignerError): boolean {
  return code === "unavailable" && memberOf(cause, "name") === "KMSInvalidStateException";
}
