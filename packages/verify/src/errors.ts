import { VerifyError } from "@signpost/core";

/**
 * Why a key set gave no key.
 *
 * | code | meaning |
 * |---|---|
 * | `unsupported_alg` | the header's `alg` is not one that a public key set can serve; nothing was looked up |
 * | `missing_kid` | the header has no `kid` |
 * | `unknown_kid` | no key with this `kid`, also after a forced refetch or while it is throttled (`retryAfterMs`) |
 * | `no_suitable_key` | the `kid` is known, but its key does not fit the `alg`, also after a forced refetch or while it is throttled (`retryAfterMs`) |
 * | `key_left_out` | the `kid` is in the set, but its entry cannot be used; the message says why |
 * | `kid_rebound` | the `kid` named another key before |
 * | `ambiguous_key` | more than one key fits |
 * | `fetch_failed`, `timeout`, `http_status`, `redirect_refused` | the request failed |
 * | `address_refused` | the host resolved to an address that is not public |
 * | `unexpected_content_type`, `body_too_large`, `invalid_jwks`, `no_usable_key` | the answer cannot be used as a key set |
 * | `invalid_metadata`, `issuer_mismatch` | the discovery document cannot be used |
 * | `aborted` | the caller's signal; its reason is the `cause` |
 */
export type KeySetErrorCode =
  | "unsupported_alg"
  | "missing_kid"
  | "unknown_kid"
  | "no_suitable_key"
  | "key_left_out"
  | "kid_rebound"
  | "ambiguous_key"
  | "fetch_failed"
  | "timeout"
  | "http_status"
  | "redirect_refused"
  | "address_refused"
  | "unexpected_content_type"
  | "body_too_large"
  | "invalid_jwks"
  | "no_usable_key"
  | "invalid_metadata"
  | "issuer_mismatch"
  | "aborted";

/** A key set gave no key, or could not be read. */
export class KeySetError extends VerifyError {
  /** Name of the class. */
  override readonly name: string = "KeySetError";
  /** Why there is no key: switch on it. */
  declare readonly code: KeySetErrorCode;
  /** Milliseconds until another request may be sent. Absent where asking again does not help. */
  readonly retryAfterMs: number | undefined;
  /** Status of the HTTP answer, where there was one. */
  readonly status: number | undefined;

  constructor(
    code: KeySetErrorCode,
    message: string,
    options?: ErrorOptions & { retryAfterMs?: number | undefined; status?: number | undefined },
  ) {
    super(code, message, options);
    this.retryAfterMs = options?.retryAfterMs;
    this.status = options?.status;
  }
}

/** The KeySetError in a chain of causes: an HTTP client wraps what its connector throws. */
export function findKeySetError(error: unknown): KeySetError | undefined {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth += 1) {
    if (current instanceof KeySetError) return current;
    current = current.cause;
  }
  return undefined;
}

/**
 * Why a token was refused.
 *
 * | code | meaning |
 * |---|---|
 * | `malformed_jwt` | not a compact JWS of three unpadded base64url parts with JSON objects, or too long |
 * | `alg_not_allowed` | the `alg` is not on the list; no key was looked up |
 * | `unsupported_header` | the header has `crit` or `b64` |
 * | `invalid_typ` | the token is of another kind |
 * | `unknown_client` | no keys for this client |
 * | `client_mismatch` | `iss`, `sub` or `client_id` is not the client |
 * | `bad_signature` | the signature does not verify, or has the wrong length |
 * | `invalid_issuer`, `invalid_audience` | issued by, or meant for, somebody else |
 * | `expired`, `not_yet_valid`, `lifetime_too_long` | the times |
 * | `invalid_claim` | a claim is missing, of the wrong type, or forbidden; `claim` names it |
 * | `replayed` | the `jti` was used before |
 * | `replay_store_unavailable` | the replay store did not answer, so the token is refused |
 */
export type TokenErrorCode =
  | "malformed_jwt"
  | "alg_not_allowed"
  | "unsupported_header"
  | "invalid_typ"
  | "unknown_client"
  | "client_mismatch"
  | "bad_signature"
  | "invalid_issuer"
  | "invalid_audience"
  | "expired"
  | "not_yet_valid"
  | "lifetime_too_long"
  | "invalid_claim"
  | "replayed"
  | "replay_store_unavailable";

/** A token was refused. The message never holds a claim's value. */
export class TokenError extends VerifyError {
  /** Name of the class. */
  override readonly name: string = "TokenError";
  /** Why the token was refused: switch on it. */
  declare readonly code: TokenErrorCode;
  /** The claim or header member that was judged, where it was one. */
  readonly claim: string | undefined;

  constructor(code: TokenErrorCode, message: string, options?: ErrorOptions & { claim?: string | undefined }) {
    super(code, message, options);
    this.claim = options?.claim;
  }
}
