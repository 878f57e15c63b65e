import { SignerError } from "@signpost/core";
import { memberOf, safeCause, type CauseRules } from "@signpost/core/adapter";
import { CredentialsError, providerRow } from "./credential-errors.ts";
import { classify, isKnownName, nameOf } from "./error-table.ts";
import { looksLikeAlias } from "./key-name.ts";

/** What a call is asked of, for the operator. */
export interface CallTarget {
  /** The key, as the caller gave it. */
  readonly key: string;
  /** The key ARN that was found for it when the signer was opened. */
  readonly keyArn?: string | undefined;
  /** The Region that is asked. Undefined where only the caller's transport knows it. */
  readonly region: string | undefined;
}

/** A message that repeats what was sent, as in the answer of a proxy, or the command of a credential_process and its stderr. */
const REPEATS = /AWS4-HMAC-SHA256|x-amz-security-token|^Command failed/i;

/** Where a signature is refused, services repeat the request with its session token. */
const CAUSE: CauseRules = {
  members: ["code", "$fault", "$metadata"],
  hides: (error, message) => /signature/i.test(nameOf(error)) || REPEATS.test(message),
};

/** Of a source of credentials. An error in reading JSON repeats some of it. */
const SOURCE_CAUSE: CauseRules = {
  members: CAUSE.members,
  hides: (error, message) =>
    nameOf(error) === "SyntaxError" || /\bJSON\b/.test(message) || CAUSE.hides?.(error, message) === true,
};

/** Of an error in reading what the SDK is configured with: an endpoint may hold a password. */
const CONFIGURATION_CAUSE: CauseRules = { members: ["code"], hides: (_error, message) => message.includes("://") };

/** The cause of a ConfigurationError, without what was configured. */
export function configurationCause(error: unknown): unknown {
  return safeCause(error, CONFIGURATION_CAUSE);
}

/**
 * A call in a message: `kms:Sign of alias/op-2026 in eu-west-1 (arn:…)`. `operation` is the call's name in policies. An alias may
 * point to another key by now, so that the key itself is named too.
 */
export function describeCall(operation: string, { key, keyArn, region }: CallTarget): string {
  const resolved = keyArn === undefined || keyArn.endsWith(key) ? "" : ` (${keyArn})`;
  return `${operation} of ${key}${region === undefined ? "" : ` in ${region}`}${resolved}`;
}

/** From what a KMS call rejects with to our codes. */
export function signerErrorFrom(error: unknown, operation: string, target: CallTarget): SignerError {
  if (error instanceof SignerError) return error;
  const reason = error instanceof CredentialsError ? error.cause : error;
  const row = error instanceof CredentialsError ? error.row : (providerRow(error, undefined) ?? classify(error));
  const { code, text, transient } = row;
  const name = nameOf(reason);
  const told = isKnownName(name) ? ` (${name})` : "";
  const hint = code === "key_not_found" && looksLikeAlias(target.key) ? `; was alias/${target.key} meant?` : "";
  const message = `${describeCall(operation, target)} failed: ${text}${told}${hint}`;
  const cause = safeCause(reason, error instanceof CredentialsError ? SOURCE_CAUSE : CAUSE);
  return new SignerError(code, message, { cause, transient });
}

/** Whether the key is not ready yet: KMS has it, and is still creating it or its replica. */
export function isBeingCreated({ code, cause }: SignerError): boolean {
  return code === "unavailable" && memberOf(cause, "name") === "KMSInvalidStateException";
}
