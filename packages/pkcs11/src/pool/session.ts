import { CLOSE_HANG_MS } from "../wire/hang-limits.ts";
import { Thread } from "./thread.ts";

/**
 * | state | meaning |
 * |---|---|
 * | `starting` | its first session is being opened |
 * | `recovering` | a session is being opened again after a failure |
 * | `idle`, `busy` | ready; at work |
 * | `failed` | could not be brought back; tried again later |
 * | `lost` | its thread is inside a call that does not return |
 */
export type PooledSessionState = "starting" | "recovering" | "idle" | "busy" | "failed" | "lost";

/** A key that was looked up in a session. */
export interface LookedUpKey {
  /** CKA_ALWAYS_AUTHENTICATE: each signature needs a login of its own. */
  readonly alwaysAuthenticate: boolean;
}

/** One thread with one session of a pool. */
export interface PooledSession {
  readonly thread: Thread;
  state: PooledSessionState;
  /** By their numbers in the pool: the keys that were looked up in the session as it is now. */
  readonly keys: Map<number, LookedUpKey>;
  initialized: boolean;
  /** This thread got CKR_OK from C_Initialize: its instance of the module is its own (p11-kit's client). */
  ownsInstance: boolean;
  /** Tells the session that is open now from those that were open in this thread before. */
  identity: object;
  /** Why it failed. */
  error: unknown;
}

/** A session that is to be opened, with its thread. */
export function createSession(): PooledSession {
  return {
    thread: new Thread(),
    state: "starting",
    keys: new Map(),
    initialized: false,
    ownsInstance: false,
    identity: {},
    error: undefined,
  };
}

// State changes behind an `await`, where the compiler does not look.

/** Whether its thread was given up on. */
export function isLost({ state }: PooledSession): boolean {
  return state === "lost";
}

/** Whether it is put aside, to be tried again later. */
export function isFailed({ state }: PooledSession): boolean {
  return state === "failed";
}

/** Whether it is open, at work or not. */
export function isReady({ state }: PooledSession): boolean {
  return state === "idle" || state === "busy";
}

/**
 * Closes the session, or forgets it where the module is `gone`; finalizes an instance that is this thread's own. When
 * that does not come back, `onHang` gets a promise of its return, and nobody waits for it.
 */
export async function dropSession(
  session: PooledSession,
  gone: boolean,
  onHang: (returned: Promise<void>) => void,
): Promise<void> {
  const { ownsInstance } = session;
  session.keys.clear();
  session.initialized = false;
  session.ownsInstance = false;
  // An instance that is broken or finalized already answers with an error; it is left behind either way.
  await session.thread.runWatched("finalize", { module: ownsInstance, gone }, CLOSE_HANG_MS, onHang).catch(() => {});
}
