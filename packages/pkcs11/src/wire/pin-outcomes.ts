/**
 * | outcome | what became of a PIN |
 * |---|---|
 * | `accepted`, `refused` | the token said so |
 * | `unknown` | the token has not looked at it, or its answer says nothing about it |
 * | `lost` | it was sent, and what sent it ended without a word: the token may have counted it as wrong |
 */
export type PinOutcome = "accepted" | "refused" | "unknown" | "lost";

/**
 * | verdict | the PIN of a signer whose token is logged in |
 * |---|---|
 * | `proven` | is the one that the token accepted |
 * | `changed` | is another one, and the source of the accepted one gives it too by now |
 * | `unproven` | nothing is known of the login that is in force: it is not ours |
 */
export type PinVerdict = "proven" | "changed" | "unproven";
