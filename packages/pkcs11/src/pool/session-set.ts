import { SignerError, type SignerHealth } from "@signpost/core";
import { SupersededError, toPublicError } from "../wire/command-error.ts";
import type { CommandInput, CommandName, CommandOutput, RunCommand } from "../wire/commands.ts";
import { SETUP_HANG_MS } from "../wire/hang-limits.ts";
import { createSession, dropSession, isLost, type PooledSession } from "./session.ts";

/** What happens to the sessions of a set. */
export interface SessionSetEvents {
  /** A session became ready, failed, or was lost. */
  readonly onChange: () => void;
  /** A call hangs inside the module (1) or came back (-1). There may be room for another session. */
  readonly onHanging: (difference: 1 | -1) => void;
}

/**
 * The sessions on one token, each in a thread: which of them is free, what runs in them, and which hang. A call that
 * does not return in time takes its session out of the set.
 */
export class SessionSet {
  readonly #events: SessionSetEvents;
  readonly #sessions: Set<PooledSession> = new Set();
  readonly #lost: Set<PooledSession> = new Set();
  /** Counts the fresh starts of the module. Work begun before one does not go on after it. */
  #epoch = 0;
  #paused = false;

  constructor(events: SessionSetEvents) {
    this.#events = events;
  }

  get all(): readonly PooledSession[] {
    return [...this.#sessions];
  }

  get size(): number {
    return this.#sessions.size;
  }

  get lost(): number {
    return this.#lost.size;
  }

  get epoch(): number {
    return this.#epoch;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** A session in a new thread. It has to be opened. */
  add(): PooledSession {
    const session = createSession();
    this.#sessions.add(session);
    return session;
  }

  /** Takes a session out, closes it and ends its thread. */
  async remove(session: PooledSession): Promise<void> {
    this.#sessions.delete(session);
    await this.#end(session);
  }

  /** An idle session, busy from now on until `giveBack` or `fail`. */
  take(): PooledSession | undefined {
    return this.#paused ? undefined : this.takeAll().next().value;
  }

  /** Every idle session, busy from now on. */
  *takeAll(): Generator<PooledSession, undefined> {
    for (const session of this.#sessions) {
      if (session.state !== "idle") continue;
      session.state = "busy";
      yield session;
    }
    return undefined;
  }

  giveBack(session: PooledSession): void {
    if (session.state === "lost" || session.state === "failed") return;
    session.state = "idle";
    this.#events.onChange();
  }

  fail(session: PooledSession, error: unknown): void {
    session.state = "failed";
    session.error = error;
    this.#events.onChange();
  }

  /** Commands for one session, valid until the module is initialized again. Those that do not come back lose the session. */
  commands(session: PooledSession): RunCommand {
    const epoch = this.#epoch;
    return (name, input, hangMs = SETUP_HANG_MS) => this.#run(session, epoch, name, input, hangMs);
  }

  /** Why work cannot even wait. Undefined while it can. */
  down(): SignerError | undefined {
    return this.#paused ? undefined : whyDown(this.all);
  }

  status(): SignerHealth["status"] {
    const status = statusOf(this.all);
    return this.#paused && status === "ready" ? "degraded" : status;
  }

  /** Stops dispatching; nothing that was begun before goes on after its next command. */
  pause(): void {
    this.#epoch += 1;
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#events.onChange();
  }

  /** Resolves once no thread is inside a call, lost ones excepted. */
  async drained(): Promise<void> {
    await Promise.all(this.all.map(({ thread }) => thread.drained()));
  }

  /** Drops every session, and finalizes the instances that belong to single threads. `gone`: the module is finalized. */
  async release(gone: boolean): Promise<void> {
    await Promise.all(this.all.map((session) => this.#drop(session, gone)));
  }

  /** Finalizes the instance of the module that is this session's own, where it is: the next one makes a new instance. */
  async dropInstance(session: PooledSession): Promise<void> {
    if (session.ownsInstance) await this.#drop(session, false);
  }

  /** Lets the work of callers come back, then closes the sessions. Nobody waits for those that are being opened. */
  async close(): Promise<void> {
    const atWork = this.all.filter(({ state }) => state !== "starting" && state !== "recovering");
    await Promise.all(atWork.map(({ thread }) => thread.drained()));
    this.#epoch += 1;
    await Promise.all(this.all.map((session) => this.remove(session)));
  }

  async #end(session: PooledSession): Promise<void> {
    await this.#drop(session, false);
    // A thread that is inside the module ends once it has come back.
    if (!isLost(session)) await session.thread.terminate();
  }

  #drop(session: PooledSession, gone: boolean): Promise<void> {
    return dropSession(session, gone, (returned) => this.#lose(session, returned));
  }

  #run<Name extends CommandName>(
    session: PooledSession,
    epoch: number,
    name: Name,
    input: CommandInput<Name>,
    hangMs: number,
  ): Promise<CommandOutput<Name>> {
    if (epoch !== this.#epoch) return Promise.reject(new SupersededError());
    return session.thread.runWatched(name, input, hangMs, (returned) => this.#lose(session, returned));
  }

  #lose(session: PooledSession, returned: Promise<void>): void {
    session.state = "lost";
    this.#sessions.delete(session);
    this.#lost.add(session);
    void this.#waitForLost(session, returned);
    this.#events.onHanging(1);
    this.#events.onChange();
  }

  async #waitForLost(session: PooledSession, returned: Promise<void>): Promise<void> {
    await returned;
    this.#lost.delete(session);
    session.state = "failed";
    this.#events.onHanging(-1);
    await this.#end(session);
  }
}

/**
 * Why work cannot even wait for a session: none is ready and none is on its way. Undefined also when there is no session
 * because all of them hang: one may come back yet, and until then a caller's time limit says best what is wrong.
 */
function whyDown(sessions: readonly PooledSession[]): SignerError | undefined {
  const [first] = sessions;
  if (first === undefined || sessions.some(({ state }) => state !== "failed")) return undefined;
  const { message } = toPublicError(first.error);
  return new SignerError("unavailable", `no session is open: ${message}`, { cause: first.error });
}

function statusOf(sessions: readonly PooledSession[]): SignerHealth["status"] {
  if (whyDown(sessions) !== undefined) return "down";
  const states = new Set(sessions.map(({ state }) => state));
  // One session that is being replaced while others sign is nothing to tell anybody about.
  const signing = states.has("idle") || states.has("busy");
  return signing && !states.has("failed") ? "ready" : "degraded";
}
