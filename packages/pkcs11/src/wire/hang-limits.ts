/** Opening, login and search go over the network in many modules. Longer than this, the call hangs. Milliseconds. */
export const SETUP_HANG_MS = 10_000;
/** Closing a session or finalizing the module. A caller of `close` waits no longer than about this. Milliseconds. */
export const CLOSE_HANG_MS = 3_000;
