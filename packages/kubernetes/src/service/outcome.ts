import { status } from "@grpc/grpc-js";
import { SignpostError } from "@signpost/core";

/** How a call ended. */
export interface Outcome {
  /** `ok`, or the code of an error. */
  readonly code: string;
  readonly status: status;
}

export const OK: Outcome = { code: "ok", status: status.OK };
/** More calls at a time than the server takes. */
export const OVERLOADED: Outcome = { code: "overloaded", status: status.RESOURCE_EXHAUSTED };

/** The gRPC status for our error codes. An error of a code that is not here is a failure of the signer: INTERNAL. */
const STATUS: Readonly<Record<string, status>> = {
  invalid_request: status.INVALID_ARGUMENT,
  invalid_claims: status.INVALID_ARGUMENT,
  wrong_issuer: status.INVALID_ARGUMENT,
  lifetime_too_long: status.INVALID_ARGUMENT,
  lifetime_invalid: status.INVALID_ARGUMENT,
  aborted: status.CANCELLED,
  timeout: status.DEADLINE_EXCEEDED,
  throttled: status.RESOURCE_EXHAUSTED,
  overloaded: status.RESOURCE_EXHAUSTED,
  unavailable: status.UNAVAILABLE,
  closed: status.UNAVAILABLE,
  audit_failed: status.UNAVAILABLE,
  access_denied: status.FAILED_PRECONDITION,
  key_not_found: status.FAILED_PRECONDITION,
  key_disabled: status.FAILED_PRECONDITION,
  wrong_key: status.FAILED_PRECONDITION,
  pin_incorrect: status.FAILED_PRECONDITION,
  pin_locked: status.FAILED_PRECONDITION,
};

/** What the requester is told of an error: its code alone. A message could say too much of the signer's side. */
export function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof SignpostError)) return { code: "internal", status: status.INTERNAL };
  return { code: error.code, status: STATUS[error.code] ?? status.INTERNAL };
}
