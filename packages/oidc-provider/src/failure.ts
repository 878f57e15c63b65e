import { ConfigurationError, SignerError } from "@signpost/core";
import type { OidcProviderContextLike, OidcProviderErrorsLike } from "./host.ts";

const RETRY_AFTER_SECONDS = "2";

/** The host errors that were created here. Their `cause`, which the host's events contain, has the code. */
const passingErrors = new WeakSet<object>();
const lastingErrors = new WeakSet<object>();

/**
 * The host's error for a failure to sign. It tells the client whether to try again (the authorization endpoint sends it in
 * the redirect). The operator sees the cause.
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
  const error = new TemporarilyUnavailable("the signing key is currently unavailable");
  // The host would answer 400 for this error, as if it were the client's fault.
  Object.assign(error, { cause, status: 503, statusCode: 503 });
  passingErrors.add(error);
  return error;
}

/**
 * Runs outside the host's error handling. It adds `Retry-After` to a 503 and removes a challenge from it. If not even the
 * error response could be signed (JARM), it answers with a plain page. The host has already emitted its error events.
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
  // Another 503, for example during maintenance, may already say when to come back.
  if (!context.res.hasHeader("Retry-After")) context.set("Retry-After", RETRY_AFTER_SECONDS);
  // The host's userinfo endpoint sends a challenge with every error, which would blame the client's token.
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
  return new ConfigurationError("kid", "expected the kid of the active key or of the previous one");
}

/** Two requests use the same code or token. If the client tries again, the host knows whether it is used up. */
export function inUse(): SignerError {
  return new SignerError("unavailable", "another request used the same code or token meanwhile");
}

/** The client gave up while its request waited. The tokens would be lost. */
export function clientLeft(): SignerError {
  return new SignerError("unavailable", "the client closed its connection meanwhile: its code or token is not used up");
}

function isPassing(error: unknown): boolean {
  return error instanceof SignerError && error.transient;
}
