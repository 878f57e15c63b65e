import { SignerError, type SignerHealth } from "@signpost/core";
import { SupersededError, toPublicError } from "../wire/command-error.ts";
import type { CommandInput, CommandName, CommandOutput, RunCommand } from "../wire/commands.ts";
import { SETUP_HANG_MS } from "../wire/hang-limits.ts";
import { Computing, STUCK_MS } from "./computing.ts";
import { createSession, dropSession, isFailed, isLost, isReady, type PooledSession } from "./session.ts";

/** The events of a set's sessions. */
export interface SessionSetEvents {
  /** A session became ready, failed, or was lost. */
  readonly onChange: () => void;
  /** A call hangs inside the module (1) or has returned (-1). There may be room for another session. */
  readonly onHanging: (difference: 1 | -1) => void;
}

/**
 * The sessions on one token, each in a thread: which are idle, what runs in the busy ones, and which hang. A call that does
 * not return in time removes its session from the set.
 */
export class SessionSet {
  readonly #events: SessionSetEvents;
  readonly #sessions: Set<PooledSession> = new Set();
  readonly #lost: Set<PooledSession> = new Set();
  readonly #computing = new Computing();
  /** Counts the fresh starts of the module. Work that began before one does not continue after it. */
  #epoch = 0;
  /** The most sessions that were open at once since the last of these. */
  #held = 0;
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

  /** A session in a new thread. It still has to be opened. */
  add(): PooledSession {
    const session = createSession({ watchedSign: (slept) => this.#computing.saw(slept) });
    this.#sessions.add(session);
    return session;
  }

  /** Removes a session, closes it and ends its thread. */
  async remove(session: PooledSession): Promise<void> {
    this.#sessions.delete(session);
    await this.#end(session);
  }

  /** An idle session, busy from now on until `giveBack` or `fail`. None if enough threads compute already. */
  take(): PooledSession | undefined {
    const isFull = this.#paused || this.#computingThreads() >= this.#computing.threads;
    return isFull ? undefined : this.#takeIdle();
  }

  /** If no more threads may compute: one that takes another digest while it signs. */
  joinable(): PooledSession | undefined {
    if (this.#paused || !this.limitsThreads) return undefined;
    let fewest: PooledSession | undefined;
    for (const session of this.#sessions) {
      if (session.state !== "busy" || !session.thread.takesMore || session.thread.runningMs > STUCK_MS) continue;
      if (fewest === undefined || session.jobs < fewest.jobs) fewest = session;
    }
    return fewest;
  }

  /** Takes a session from `joinable` for one more job. */
  join(session: PooledSession): void {
    session.jobs += 1;
  }

  /** Whether work waits in a session for other work. */
  get hasJoined(): boolean {
    for (const { jobs } of this.#sessions) if (jobs > 1) return true;
    return false;
  }

  /** Whether work may have to wait although a session is idle. */
  get limitsThreads(): boolean {
    return this.#computing.threads !== Number.POSITIVE_INFINITY;
  }

  /** Gives the work that waits behind a call that does not return to other sessions. */
  withdrawStuck(): void {
    for (const { thread } of this.#sessions) if (thread.runningMs > STUCK_MS) thread.withdraw();
  }

  /** Every idle session, busy from now on. */
  *takeAll(): Generator<PooledSession, undefined> {
    for (let next = this.#takeIdle(); next !== undefined; next = this.#takeIdle()) yield next;
    return undefined;
  }

  #takeIdle(): PooledSession | undefined {
    for (const session of this.#sessions) {
      if (session.state !== "idle") continue;
      session.state = "busy";
      session.jobs = 1;
      return session;
    }
    return undefined;
  }

  giveBack(session: PooledSession): void {
    if (session.state === "lost" || session.state === "failed") return;
    session.jobs = Math.max(0, session.jobs - 1);
    if (session.jobs === 0) session.state = "idle";
    this.#events.onChange();
  }

  fail(session: PooledSession, error: unknown): void {
    session.state = "failed";
    session.error = error;
    this.#events.onChange();
  }

  /**
   * Commands for one session, valid until the module is initialized again. A command that does not return loses the
   * session.
   */
  commands(session: PooledSession): RunCommand {
    const epoch = this.#epoch;
    return (name, input, hangMs = SETUP_HANG_MS) => this.#run(session, epoch, name, input, hangMs);
  }

  /** Why work cannot even wait. Undefined while it can. */
  down(): SignerError | undefined {
    return this.#paused ? undefined : whyDown(this.#sessions);
  }

  /** Why some sessions are not open while others are. Undefined if that is not so. */
  missing(): string | undefined {
    const failed = this.all.filter(isFailed);
    const [first] = failed;
    if (first === undefined || this.#paused) return undefined;
    return `${failed.length} of ${this.size} sessions cannot be opened: ${toPublicError(first.error).message}`;
  }

  status(): SignerHealth["status"] {
    const status = statusOf(this.all);
    return this.#paused && status === "ready" ? "degraded" : status;
  }

  /** Counts a session that was opened, before it is given back. */
  opened(session: PooledSession): void {
    const others = this.all.filter((other) => other !== session && isReady(other));
    this.#held = Math.max(this.#held, others.length + 1);
  }

  /** Whether the token holds as many sessions as it has held at once, without this one. It may have room for no more. */
  isFullWithout(session: PooledSession): boolean {
    const others = this.all.filter((other) => other !== session && (isReady(other) || other.state === "recovering"));
    return others.length > 0 && others.length >= this.#held;
  }

  /** Stops dispatching. Earlier work ends after its current command. */
  pause(): void {
    this.#epoch += 1;
    this.#held = 0;
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#events.onChange();
  }

  /** Resolves once no thread is inside a call, except lost ones. */
  async drained(): Promise<void> {
    await Promise.all(this.all.map(({ thread }) => thread.drained()));
  }

  /** Drops every session, and finalizes the private instances of single threads. `gone`: the module is finalized. */
  async release(gone: boolean): Promise<void> {
    await Promise.all(this.all.map((session) => this.#drop(session, gone)));
  }

  /** Finalizes this session's private instance of the module, if it has one. The next session makes a new one. */
  async dropInstance(session: PooledSession): Promise<void> {
    if (session.ownsInstance) await this.#drop(session, false);
  }

  /** Lets the callers' work finish, then closes the sessions. Does not wait for those that are being opened. */
  async close(): Promise<void> {
    const atWork = this.all.filter(({ state }) => state !== "starting" && state !== "recovering");
    await Promise.all(atWork.map(({ thread }) => thread.drained()));
    this.#epoch += 1;
    await Promise.all(this.all.map((session) => this.remove(session)));
  }

  async #end(session: PooledSession): Promise<void> {
    await this.#drop(session, false);
    // A thread inside the module ends once it has returned.
    if (!isLost(session)) await session.thread.terminate();
  }

  /** Only those at work: the end of a command in an idle session, which forgets a key, hands out no work. */
  #computingThreads(): number {
    if (!this.limitsThreads) return 0;
    let count = 0;
    for (const { state, thread } of this.#sessions) {
      if (state === "busy" && thread.pending > 0 && thread.runningMs <= STUCK_MS) count += 1;
    }
    return count;
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
 * Why work cannot even wait for a session: none is ready and none is being opened. Undefined also when there is no session
 * because all of them hang. One may still return, and until then a caller's time limit describes the problem best.
 */
function whyDown(sessions: Iterable<PooledSession>): SignerError | undefined {
  let first: PooledSession | undefined;
  for (const session of sessions) {
    if (session.state !== "failed") return undefined;
    first ??= session;
  }
  if (first === undefined) return undefined;
  const { message } = toPublicError(first.error);
  return new SignerError("unavailable", `no session is open: ${message}`, { cause: first.error });
}

function statusOf(sessions: readonly PooledSession[]): SignerHealth["status"] {
  if (whyDown(sessions) !== undefined) return "down";
  const states = new Set(sessions.map(({ state }) => state));
  // One session that is being replaced while others sign is not worth reporting.
  const signing = states.has("idle") || states.has("busy");
  return signing && !states.has("failed") ? "ready" : "degraded";
}
