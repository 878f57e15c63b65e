import { Thread } from "./thread.ts";

/**
 * | state | meaning |
 * |---|---|
 * | `starting` | its first session is being opened |
 * | `recovering` | a session is being opened anew after a failure |
 * | `idle`, `busy` | ready; signing |
 * | `failed` | could not be brought back; tried again later |
 * | `lost` | its thread is inside a call that does not return |
 */
export type SessionCondition = "starting" | "recovering" | "idle" | "busy" | "failed" | "lost";

/** One thread with one session of a pool. */
export interface PooledSession {
  readonly thread: Thread;
  state: SessionCondition;
  /** Keys that were looked up in the session as it is now. */
  readonly keys: Set<number>;
  /** This thread got CKR_OK from C_Initialize: its instance of the module is its own (p11-kit's client). */
  ownsInstance: boolean;
  initialized: boolean;
  /** Why it failed. */
  error: unknown;
}

export function createSession(): PooledSession {
  return {
    thread: new Thread(),
    state: "starting",
    keys: new Set(),
    ownsInstance: false,
    initialized: false,
    error: undefined,
  };
}

/** Whether its thread was given up on. State changes behind an `await`, where the compiler does not look. */
export function isLost({ state }: PooledSession): boolean {
  return state === "lost";
}
