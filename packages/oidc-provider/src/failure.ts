import { ConfigurationError, SignerError } from "@signpost/core";
import type { HostContext, HostErrors } from "./host.ts";

const RETRY_AFTER_SECONDS = "2";

/** Marks the host errors that were made here; their cause, which the host's events carry, holds the code. */
const passingErrors = new WeakSet<object>();

/**
 * The host's own error for a failure to sign: the client learns whether to try again, and from the authorization
 * endpoint learns it in the redirect; the operator sees the cause.
 */
export function hostFailure(cause: unknown, { OIDCProviderError, TemporarilyUnavailable }: HostErrors): Error {
  if (!isPassing(cause)) return Object.assign(new OIDCProviderError(500, "server_error"), { cause });
  const error = new TemporarilyUnavailable("the signing key cannot be reached at the moment");
  // The host's default for this error is 400, as for a fault of the client.
  Object.assign(error, { cause, status: 503, statusCode: 503 });
  passingErrors.add(error);
  return error;
}

/**
 * Outside of the host's own error handling: adds `Retry-After` to its 503, and answers with a plain 503 where not even
 * the error response could be signed (JARM).
 */
export async function answerFailures(context: HostContext, next: () => Promise<void>): Promise<void> {
  try {
    await next();
  } catch (error) {
    if (typeof error !== "object" || error === null || !passingErrors.has(error)) throw error;
    context.status = 503;
    context.type = "text/plain";
    context.body = "temporarily unavailable\n";
  }
  if (context.status === 503) context.set("Retry-After", RETRY_AFTER_SECONDS);
}

export function unknownKid(): ConfigurationError {
  return new ConfigurationError("kid", "expected the kid of the active key or of the one before it");
}

function isPassing(error: unknown): boolean {
  return error instanceof SignerError && error.transient;
}
