/** With many modules, opening, login and search go over the network. A call that takes longer than this hangs. Milliseconds. */
export const SETUP_HANG_MS = 10_000;
/** For closing a session or finalizing the module. `close` waits about this long at most. Milliseconds. */
export const CLOSE_HANG_MS = 3_000;
