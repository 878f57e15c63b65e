/** What became of a PIN that was sent. `unknown`: the token has not looked at it, or nobody knows. */
export type PinOutcome = "accepted" | "refused" | "unknown";

/**
 * | verdict | the PIN of a signer whose token is logged in |
 * |---|---|
 * | `proven` | is the one that the token accepted |
 * | `changed` | is another one, and the source of the accepted one gives it too by now |
 * | `unproven` | nothing is known of the login that is in force: it is not ours |
 */
export type PinVerdict = "proven" | "changed" | "unproven";
