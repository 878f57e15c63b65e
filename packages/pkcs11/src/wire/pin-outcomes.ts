/**
 * | outcome | what happened to a PIN |
 * |---|---|
 * | `accepted`, `refused` | the token said so |
 * | `unknown` | the token has not checked it, or its answer says nothing about it |
 * | `lost` | it was sent, but its sender ended without an answer: the token may have counted it as wrong |
 */
export type PinOutcome = "accepted" | "refused" | "unknown" | "lost";

/**
 * | verdict | the PIN of a signer, when its token is logged in |
 * |---|---|
 * | `proven` | is the PIN that the token accepted |
 * | `changed` | differs, but the source of the accepted PIN now gives the same new PIN |
 * | `unproven` | nothing is known of the current login, which is not ours |
 */
export type PinVerdict = "proven" | "changed" | "unproven";
