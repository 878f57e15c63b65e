import type { CommandInput, CommandName, CommandOutput } from "../protocol.ts";
import { Thread } from "./thread.ts";

/**
 * | state | meaning |
 * |---|---|
 * | `starting` | its first session is being opened |
 * | `recovering` | a session is being opened anew after a failure |
 * | `idle`, `busy` | ready; at work |
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
  initialized: boolean;
  /** This thread got CKR_OK from C_Initialize: its instance of the module is its own (p11-kit's client). */
  ownsInstance: boolean;
  /** Why it failed. */
  error: unknown;
}

/** Sends a command to one session, as long as nothing has overtaken the work that it belongs to. */
export type RunCommand = <Name extends CommandName>(
  name: Name,
  input: CommandInput<Name>,
  hangMs?: number,
) => Promise<CommandOutput<Name>>;

export function createSession(): PooledSession {
  return {
    thread: new Thread(),
    state: "starting",
    keys: new Set(),
    initialized: false,
    ownsInstance: false,
    error: undefined,
  };
}

/** Whether its thread was given up on. State changes behind an `await`, where the compiler does not look. */
export function isLost({ state }: PooledSession): boolean {
  return state === "lost";
}

/** Closes the session, finalises an instance that is this thread's own, and ends the thread. */
export async function endSession(session: PooledSession): Promise<void> {
  await dropSession(session);
  await session.thread.terminate();
}

/** Closes the session, or forgets it where the module is `gone`; finalises an instance that is this thread's own. */
export async function dropSession(session: PooledSession, gone: boolean = false): Promise<void> {
  const { ownsInstance } = session;
  session.keys.clear();
  session.initialized = false;
  session.ownsInstance = false;
  // An instance that is broken or finalised already answers with an error; it is left behind either way.
  await session.thread.run("finalize", { module: ownsInstance, gone }).catch(() => {});
}
