import { ConfigurationError, SignerError } from "@signpost/core";
import type { OidcProviderContextLike, OidcProviderErrorsLike } from "./host.ts";

const RETRY_AFTER_SECONDS = "2";

/** The host errors that were made here; their cause, which the host's events carry, holds the code. */
const passingErrors = new WeakSet<object>();
const lastingErrors = new WeakSet<object>();

/**
 * The host's own error for a failure to sign: the client learns whether to try again, and from the authorization
 * endpoint learns it in the redirect; the operator sees the cause.
 */
export function hostFailure(
  cause: unknown,
  { OIDCProviderError, TemporarilyUnavailable }: OidcProviderErrorsLike,
): Error {
  if (!isPassing(cause)) {
    const error = Object.assign(new OIDCProviderError(500, "server_error"), { cause });
    lastingErrors.add(error);
    return error;
  }
  const error = new TemporarilyUnavailable("the signing key cannot be reached at the moment");
  // The host's default for this error is 400, as for a fault of the client.
  Object.assign(error, { cause, status: 503, statusCode: 503 });
  passingErrors.add(error);
  return error;
}

/**
 * Outside of the host's own error handling: adds `Retry-After` to its 503, takes a challenge off it, and answers with a
 * plain page where not even the error response could be signed (JARM). The host's events told of the failure before.
 */
export async function answerFailures(context: OidcProviderContextLike, next: () => Promise<void>): Promise<void> {
  try {
    await next();
  } catch (error) {
    if (isIn(passingErrors, error)) answerPlainly(context, 503, "temporarily unavailable\n");
    else if (isIn(lastingErrors, error)) answerPlainly(context, 500, "server error\n");
    else throw error;
  }
  if (context.status !== 503) return;
  // Another 503, say for maintenance, may know better when to come back.
  if (!context.res.hasHeader("Retry-After")) context.set("Retry-After", RETRY_AFTER_SECONDS);
  // The host's userinfo challenges on every error, which would tell the client that its token is at fault.
  if (String(context.res.getHeader("WWW-Authenticate")).includes('error="temporarily_unavailable"')) {
    context.remove("WWW-Authenticate");
  }
}

function answerPlainly(context: OidcProviderContextLike, status: number, body: string): void {
  context.status = status;
  context.type = "text/plain";
  context.body = body;
}

function isIn(errors: WeakSet<object>, error: unknown): boolean {
  return typeof error === "object" && error !== null && errors.has(error);
}

export function unknownKid(): ConfigurationError {
  return new ConfigurationError("kid", "expected the kid of the active key or of the one before it");
}

/** The header is the host's, so the token cannot be made by another key. The host makes a new one when it is asked again. */
export function withdrawnMeanwhile(kid: string, cause?: unknown): SignerError {
  const problem = `the key of kid ${JSON.stringify(kid)} was withdrawn before its signature was there`;
  return new SignerError("unavailable", problem, cause === undefined ? {} : { cause });
}

function isPassing(error: unknown): boolean {
  return error instanceof SignerError && error.transient;
}
