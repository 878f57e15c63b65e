/**
 * The ways a backend can fail. All fakes and harnesses use these names. A fake offers the faults that make sense for its
 * protocol. A fault that is on applies to every call until it is switched off.
 *
 * The backend is unreachable or too slow:
 *
 * | fault | the backend … |
 * |---|---|
 * | `unreachable` | accepts no connection: refused, process gone, module finalized, token removed |
 * | `unavailable` | answers that it is unavailable: HTTP 5xx, gRPC `UNAVAILABLE`, `CKR_DEVICE_ERROR` |
 * | `throttle` | answers that the caller has exceeded its rate or quota |
 * | `backend-timeout` | answers that something behind it was too slow: `DependencyTimeoutException`, `DEADLINE_EXCEEDED` |
 * | `session-lost` | has lost the session or login. It expires once, when the fault is switched on |
 * | `reset` | accepts the request and closes the connection without an answer |
 * | `hang` | accepts the request and never answers. The connection stays open |
 * | `hang-after-headers` | sends the headers of an answer and then nothing more. The connection stays open |
 * | `slow` | answers correctly, but only after `SLOW_FAULT_MS` |
 *
 * The answer is damaged or missing:
 *
 * | fault | the backend … |
 * |---|---|
 * | `truncated` | ends the answer in the middle (valid framing, half of the content) |
 * | `empty` | answers success without a signature |
 * | `html` | is behind a proxy that answers with HTML and a 5xx status |
 * | `corrupted` | returns a signature with one flipped bit, and the checksum of the original if there is a checksum |
 * | `corrupted-request` | answers that the digest it received does not match its checksum |
 * | `missing-checksum` | omits the checksums that its protocol requires |
 *
 * The answer is well-formed but wrong:
 *
 * | fault | the backend … |
 * |---|---|
 * | `wrong-key` | signs with another key and names that key in its answer |
 * | `foreign-signature` | signs with another key under our key's name |
 * | `bad-signature` | signs another digest with our key, for example the digest hashed again |
 * | `malformed-signature` | returns an invalid signature encoding: bad DER, or not 64 bytes if raw is expected |
 * | `out-of-range-signature` | returns well-formed r and s, one of them zero or not below the group order |
 *
 * The backend refuses:
 *
 * | fault | the backend … |
 * |---|---|
 * | `access-denied` | knows the caller and does not allow this call |
 * | `expired-credentials` | refuses the caller's credentials as expired or unknown, even new ones |
 * | `key-not-found` | no longer has this key |
 * | `key-disabled` | has disabled the key |
 * | `key-destroyed` | has destroyed the key, or scheduled it for destruction |
 *
 * Only opening fails (a signer that is already open keeps signing):
 *
 * | fault | the backend … |
 * |---|---|
 * | `unsupported-key` | has a key of another type, curve or usage under that name |
 * | `ambiguous-key` | has more than one key that matches |
 * | `key-pending` | has not generated the key yet |
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
