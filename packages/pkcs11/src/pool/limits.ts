/** C_Finalize and C_Initialize are at least this far apart. */
export const REINITIALIZE_INTERVAL_MS = 30_000;
/** A C_Initialize alone, after other code finalized the module, disturbs no call and may come sooner. */
export const INITIALIZE_INTERVAL_MS = 1_000;
/** A list of tokens this young is taken as it is; an older one may miss a token that was made since. */
export const LOOK_AGAIN_MS = 1_000;
/** Sessions that could not be brought back are tried again so soon, and half as often each time, */
export const FIRST_RETRY_MS = 250;
/** but at least this often. */
export const RETRY_INTERVAL_MS = 5_000;
/** So many control threads may hang inside a module at once; each was replaced by another. */
export const LOST_CONTROLS = 2;
/** A source whose PIN was refused is asked again at most so often. */
export const ASK_AGAIN_MS = 5_000;
/** So many failures of the `repeated` kind in a row, and a new session is not enough. */
export const REPEATED_LIMIT = 3;
/** How long it is taken for granted that a key cannot be used, so that requests do not search the token again and again. */
export const KEY_REFUSAL_MS = 1_000;
/** How long the exit of the process waits for sessions to close, behind the native calls that are running. */
export const EXIT_WAIT_MS = 2_000;
/** How long a new signer waits for the module to be finalized by its last users. */
export const STOP_WAIT_MS = 3_000;
