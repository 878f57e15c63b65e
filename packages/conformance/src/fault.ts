/**
 * How a backend can fail, in words that every fake and every adapter's harness share. A fake offers those
 * that make sense for its protocol. A fault that is on applies to every call until it is switched off.
 *
 * The backend is away or too slow:
 *
 * | fault | the backend … |
 * |---|---|
 * | `unreachable` | takes no connection: refused, process gone, module finalised, token removed |
 * | `unavailable` | answers that it cannot serve for now: HTTP 5xx, gRPC `UNAVAILABLE`, `CKR_DEVICE_ERROR` |
 * | `throttle` | answers that the caller is over its rate or quota |
 * | `backend-timeout` | answers that one of its own parts was too slow: `DependencyTimeoutException`, `DEADLINE_EXCEEDED` |
 * | `session-lost` | has forgotten the session or login: expired once, at the moment the fault is switched on |
 * | `reset` | takes the request and cuts the connection without an answer |
 * | `hang` | takes the request and never answers, connection open |
 * | `hang-after-headers` | sends the head of an answer and then nothing more, connection open |
 * | `slow` | answers correctly, but only after `SLOW_FAULT_MS` |
 *
 * The answer is damaged or is none:
 *
 * | fault | the backend … |
 * |---|---|
 * | `truncated` | ends the answer in the middle (valid framing, half of the content) |
 * | `empty` | answers success without a signature |
 * | `html` | is hidden by a proxy, which answers in HTML with a 5xx status |
 * | `corrupted` | returns a signature with a bit changed on the way, the checksum (where there is one) of the original |
 * | `corrupted-request` | says that the digest it received does not match its checksum |
 * | `missing-checksum` | leaves out the checksums that its protocol requires |
 *
 * The answer is well formed and wrong:
 *
 * | fault | the backend … |
 * |---|---|
 * | `wrong-key` | signs with another key and names that key in its answer |
 * | `foreign-signature` | signs with another key under our key's name |
 * | `bad-signature` | signs another digest with our key, for instance the digest hashed again |
 * | `malformed-signature` | returns bytes that break the signature encoding: bad DER, or not 64 bytes where raw is expected |
 * | `out-of-range-signature` | returns well-formed r and s of which one is zero, or the group order or above |
 *
 * The backend refuses:
 *
 * | fault | the backend … |
 * |---|---|
 * | `access-denied` | knows the caller and does not allow this call |
 * | `expired-credentials` | refuses the caller's credentials as expired or unknown, new ones as well |
 * | `key-not-found` | has no such key any more |
 * | `key-disabled` | has the key, disabled |
 * | `key-destroyed` | has destroyed the key, or scheduled it for destruction |
 *
 * Opening is what fails (a signer opened before goes on signing):
 *
 * | fault | the backend … |
 * |---|---|
 * | `unsupported-key` | has a key of another type, curve or usage under that name |
 * | `ambiguous-key` | has more than one key that matches |
 * | `key-pending` | has the key, not generated yet |
 * | `pin-incorrect` | refuses the user PIN |
 * | `pin-locked` | has locked the user PIN |
 */
export type Fault =
  | "unreachable"
  | "unavailable"
  | "throttle"
  | "backend-timeout"
  | "session-lost"
  | "reset"
  | "hang"
  | "hang-after-headers"
  | "slow"
  | "truncated"
  | "empty"
  | "html"
  | "corrupted"
  | "corrupted-request"
  | "missing-checksum"
  | "wrong-key"
  | "foreign-signature"
  | "bad-signature"
  | "malformed-signature"
  | "out-of-range-signature"
  | "access-denied"
  | "expired-credentials"
  | "key-not-found"
  | "key-disabled"
  | "key-destroyed"
  | "unsupported-key"
  | "ambiguous-key"
  | "key-pending"
  | "pin-incorrect"
  | "pin-locked";

/** Delay of an answer under the fault `slow`, in milliseconds: longer than the attempt timeout that the checks use. */
export const SLOW_FAULT_MS = 1_500;
