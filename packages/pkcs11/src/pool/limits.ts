/** The minimum time between a C_Finalize with C_Initialize and the next. */
export const REINITIALIZE_INTERVAL_MS = 30_000;
/** The same for C_Initialize alone, after other code finalized the module. It disturbs no call and may come sooner. */
export const INITIALIZE_INTERVAL_MS = 1_000;
/** A list of tokens up to this age is reused. An older one may miss a token that was made since. */
export const LOOK_AGAIN_MS = 1_000;
/** If its first C_Initialize took no longer, a module without users is initialized a second time for a token that it misses. */
export const SHORT_START_MS = 5_000;
/** The first delay before another try to reopen failed sessions. It doubles each time, */
export const FIRST_RETRY_MS = 250;
/** up to this delay. */
export const RETRY_INTERVAL_MS = 5_000;
/** How many control threads may hang inside a module at the same time, each replaced by another. */
export const LOST_CONTROLS = 2;
/** The minimum time before a source whose PIN was refused is asked again. */
export const ASK_AGAIN_MS = 5_000;
/** This many failures of the `repeated` kind in a row need more than a new session. */
export const REPEATED_LIMIT = 3;
/** How long an unusable key is assumed to stay unusable, so that requests do not search the token over and over. */
export const KEY_REFUSAL_MS = 1_000;
/** How long the exit of the process waits for sessions to close, after the native calls that are running. */
export const EXIT_WAIT_MS = 2_000;
/** How long a new signer waits for the last users to finalize the module. */
export const STOP_WAIT_MS = 3_000;
