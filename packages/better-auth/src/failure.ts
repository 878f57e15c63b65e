import { SignerError } from "@signpost/core";
import type { ApiErrorClassLike } from "./host.ts";

interface Answer {
  readonly status: "SERVICE_UNAVAILABLE" | "INTERNAL_SERVER_ERROR";
  readonly body: Record<string, string>;
  readonly headers: Record<string, string>;
}

const RETRY_AFTER_SECONDS = "2";
/** As RFC 6749 section 5.1 says for tokens. */
const NOT_STORED = { "Cache-Control": "no-store", Pragma: "no-cache" };

/** The host's error for a failure to sign. The client learns whether to try again. The operator sees the cause. */
export function hostFailure(cause: unknown, APIError: ApiErrorClassLike): Error {
  const { status, body, headers } = answerTo(cause);
  const error = new APIError(status, body, { ...headers, ...NOT_STORED });
  // As the cause of any Error: not among what an app writes to its client with JSON.stringify.
  return Object.defineProperty(error, "cause", { value: cause, writable: true, configurable: true });
}

/** `code` and `message` are the host's members, `error` and `error_description` those of RFC 6749 section 5.2. */
function answerTo(cause: unknown): Answer {
  if (!(cause instanceof SignerError && cause.transient)) {
    const message = "the token could not be signed";
    const body = { code: "SIGNING_FAILED", message, error: "server_error", error_description: message };
    return { status: "INTERNAL_SERVER_ERROR", body, headers: {} };
  }
  const message = "the signing key is currently unavailable";
  const body = {
    code: "SIGNING_UNAVAILABLE",
    message,
    error: "temporarily_unavailable",
    error_description: message,
  };
  return { status: "SERVICE_UNAVAILABLE", body, headers: { "Retry-After": RETRY_AFTER_SECONDS } };
}
