import { CLOSE_HANG_MS } from "../wire/hang-limits.ts";
import { Thread, type ThreadEvents } from "./thread.ts";

/**
 * | state | meaning |
 * |---|---|
 * | `starting` | its first session is being opened |
 * | `recovering` | a session is being opened again after a failure |
 * | `idle`, `busy` | ready; at work |
 * | `failed` | could not be reopened; tried again later |
 * | `lost` | its thread is inside a call that does not return |
 */
export type PooledSessionState = "starting" | "recovering" | "idle" | "busy" | "failed" | "lost";

/** A key that was found in a session. */
export interface LookedUpKey {
  /** CKA_ALWAYS_AUTHENTICATE: each signature requires its own login. */
  readonly alwaysAuthenticate: boolean;
}

/** One thread with one session of a pool. */
export interface PooledSession {
  readonly thread: Thread;
  state: PooledSessionState;
  /** The work that it was taken for and is not over. */
  jobs: number;
  /** The keys found in the current session, by their numbers in the pool. */
  readonly keys: Map<number, LookedUpKey>;
  initialized: boolean;
  /** This thread got CKR_OK from C_Initialize, so it has a private instance of the module (p11-kit's client). */
  ownsInstance: boolean;
  /** Distinguishes the current session from earlier ones in this thread. */
  identity: object;
  /** Why it failed. */
  error: unknown;
}

/** A session to open, with its thread. */
export function createSession(events: ThreadEvents): PooledSession {
  return {
    thread: new Thread(events),
    state: "starting",
    jobs: 0,
    keys: new Map(),
    initialized: false,
    ownsInstance: false,
    identity: {},
    error: undefined,
  };
}

// State changes during an `await`, which the compiler does not see.

/** Whether its thread was given up on. */
export function isLost({ state }: PooledSession): boolean {
  return state === "lost";
}

/** Whether it is set aside, to be tried again later. */
export function isFailed({ state }: PooledSession): boolean {
  return state === "failed";
}

/** Whether it is open, whether idle or busy. */
export function isReady({ state }: PooledSession): boolean {
  return state === "idle" || state === "busy";
}

/**
 * Closes the session, or forgets it when the module is `gone`. Finalizes this thread's private instance, if it has one. If
 * that does not return, `onHang` gets a promise that resolves when it does, and closing goes on without it.
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
  // A broken or finalized instance returns an error. Either way it is left behind.
  await session.thread.runWatched("finalize", { module: ownsInstance, gone }, CLOSE_HANG_MS, onHang).catch(() => {});
}
