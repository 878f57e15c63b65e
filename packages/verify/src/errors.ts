import { VerifyError } from "@signpost/core";
import { markErrorClass } from "@signpost/core/adapter";
import { causesOf } from "./causes.ts";

/**
 * Why a key set returned no key. A code is transient if the network or the OP's answer is at fault.
 *
 * | code | meaning | transient |
 * |---|---|---|
 * | `unsupported_alg` | no public key can serve the header's `alg`; no key was looked up | no |
 * | `missing_kid` | the header has no `kid` | no |
 * | `unknown_kid` | no key has this `kid`, even after a forced refetch or while the next one is throttled (`retryAfterMs`) | no |
 * | `no_suitable_key` | the key with this `kid` does not fit the `alg`, even after a forced refetch or while the next one is throttled (`retryAfterMs`) | no |
 * | `key_left_out` | the `kid` is in the set, but its entry cannot be used; the message says why | no |
 * | `kid_rebound` | the `kid` named another key before | no |
 * | `ambiguous_key` | more than one key fits | no |
 * | `fetch_failed`, `timeout`, `http_status`, `redirect_refused` | the request failed | yes |
 * | `address_refused` | the address of the host is not public | no |
 * | `guard_unavailable` | this runtime does not use the address guard, so no connection was opened | no |
 * | `throttled` | the set was fetched recently and then dropped to make room for other clients; try again after `retryAfterMs` | yes |
 * | `unexpected_content_type`, `body_too_large`, `invalid_jwks`, `no_usable_key` | the answer is not a usable key set | yes, except for a registered `jwks` |
 * | `invalid_metadata`, `issuer_mismatch` | the discovery document cannot be used | yes |
 * | `aborted` | the caller's signal aborted; its reason is the `cause` | no |
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
  | "guard_unavailable"
  | "throttled"
  | "unexpected_content_type"
  | "body_too_large"
  | "invalid_jwks"
  | "no_usable_key"
  | "invalid_metadata"
  | "issuer_mismatch"
  | "aborted";

/** Codes that are about the token, the configuration or the caller. All others come from the network or from an answer. */
const NEVER_TRANSIENT: ReadonlySet<KeySetErrorCode> = new Set([
  "unsupported_alg",
  "missing_kid",
  "unknown_kid",
  "no_suitable_key",
  "key_left_out",
  "kid_rebound",
  "ambiguous_key",
  "address_refused",
  "guard_unavailable",
  "aborted",
]);

/** Options of the constructor of `KeySetError`. */
export interface KeySetErrorOptions extends ErrorOptions {
  /** Milliseconds until another request may be sent. */
  readonly retryAfterMs?: number | undefined;
  /** Status of the HTTP answer. */
  readonly status?: number | undefined;
  /** `false` for a set that was passed and not fetched. Default: depends on the code. */
  readonly transient?: false | undefined;
}

/** A key set returned no key, or could not be read. */
export class KeySetError extends VerifyError {
  static {
    markErrorClass(this.prototype, "KeySetError");
  }

  /** Name of the class. */
  override readonly name: string = "KeySetError";
  /** Why there is no key. Switch on it. */
  declare readonly code: KeySetErrorCode;
  /** Milliseconds until another request may be sent. Absent if another request does not help. */
  readonly retryAfterMs: number | undefined;
  /** Status of the HTTP answer, if there was one. */
  readonly status: number | undefined;

  constructor(code: KeySetErrorCode, message: string, options?: KeySetErrorOptions) {
    super(code, message, { ...options, transient: options?.transient ?? !NEVER_TRANSIENT.has(code) });
    this.retryAfterMs = options?.retryAfterMs;
    this.status = options?.status;
  }
}

/** The KeySetError in a chain of causes: an HTTP client wraps what its connector throws. */
export function findKeySetError(error: unknown): KeySetError | undefined {
  for (const cause of causesOf(error)) if (cause instanceof KeySetError) return cause;
  return undefined;
}

/**
 * Why a token was refused. Only `replay_store_unavailable` is transient.
 *
 * | code | meaning |
 * |---|---|
 * | `malformed_jwt` | not a compact JWS of three unpadded base64url parts with JSON objects, or too long |
 * | `alg_not_allowed` | the `alg` is not in the list; no key was looked up |
 * | `unsupported_header` | the header has `crit` or `b64` |
 * | `invalid_typ` | the token is of another kind |
 * | `unknown_client` | there are no keys for this client |
 * | `client_mismatch` | `iss`, `sub` or `client_id` is not the client |
 * | `bad_signature` | the signature does not verify, or has the wrong length |
 * | `invalid_issuer`, `invalid_audience` | issued by, or meant for, another party |
 * | `expired`, `not_yet_valid`, `lifetime_too_long` | `exp`, `nbf`, `iat` or `auth_time` is out of range |
 * | `invalid_claim` | a claim is missing, has the wrong type, or is forbidden; `claim` names it |
 * | `insufficient_scope` | the access token does not grant a required scope |
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
  | "insufficient_scope"
  | "replayed"
  | "replay_store_unavailable";

/** A token was refused. The message never contains a claim's value. */
export class TokenError extends VerifyError {
  static {
    markErrorClass(this.prototype, "TokenError");
  }

  /** Name of the class. */
  override readonly name: string = "TokenError";
  /** Why the token was refused. Switch on it. */
  declare readonly code: TokenErrorCode;
  /** The claim or header member at fault, if it was one. */
  readonly claim: string | undefined;

  constructor(code: TokenErrorCode, message: string, options?: ErrorOptions & { claim?: string | undefined }) {
    super(code, message, { ...options, transient: code === "replay_store_unavailable" });
    this.claim = options?.claim;
  }
}
