import { SignerError, type SignerHealth } from "@signpost/core";
import { CommandError, recoveryAction, SupersededError } from "../failure-error.ts";
import type { CommandInput, CommandName, CommandOutput, TokenDescription, TokenList } from "../protocol.ts";
import { findAgain } from "../select-token.ts";
import { CKR_SESSION_COUNT } from "../worker/constants.ts";
import { statusOf, whyDown } from "./condition.ts";
import { REPEATED_LIMIT, RETRY_INTERVAL_MS, SETUP_HANG_MS } from "./limits.ts";
import type { TokenLogin } from "./login.ts";
import type { ModuleHost } from "./module-host.ts";
import { createSession, dropSession, endSession, isLost, type PooledSession, type RunCommand } from "./session.ts";

/**
 * The sessions on one token, each in a thread, and what keeps them alive: a failed session is replaced and never used
 * again, a hung one is left to itself, and what a new session does not cure goes to the module.
 */
export class SessionSet {
  #token: TokenDescription;
  readonly #host: ModuleHost;
  readonly #login: TokenLogin;
  readonly #onChange: () => void;
  readonly #sessions: Set<PooledSession> = new Set();
  readonly #lost: Set<PooledSession> = new Set();
  #target = 0;
  /** Counts the fresh starts of the module. Work begun before one does not go on after it. */
  #epoch = 0;
  #strikes = 0;
  #paused = false;
  #closed = false;
  #starting: Promise<void> | undefined;
  #retryTimer: NodeJS.Timeout | undefined;

  /** `onChange`: a session became ready, or the last one failed. */
  constructor(token: TokenDescription, host: ModuleHost, login: TokenLogin, onChange: () => void) {
    this.#token = token;
    this.#host = host;
    this.#login = login;
    this.#onChange = onChange;
  }

  get token(): TokenDescription {
    return this.#token;
  }

  get all(): Iterable<PooledSession> {
    return this.#sessions;
  }

  /** Sessions that are meant to be open. */
  get target(): number {
    return this.#target;
  }

  get lost(): number {
    return this.#lost.size;
  }

  /** Resolves once a first session is open and logged in. The others, `count` in all, follow by themselves. */
  async start(count: number): Promise<void> {
    const most = this.#token.maxSessions;
    this.#target = Math.max(this.#target, most === 0 ? count : Math.min(count, most));
    this.#login.requireOpen();
    this.#starting ??= this.#startFirst();
    await this.#starting;
    this.#fill();
  }

  /** An idle session, busy from now on until `giveBack` or `failed`. */
  take(): PooledSession | undefined {
    if (this.#paused) return undefined;
    for (const session of this.#sessions) {
      if (session.state !== "idle") continue;
      session.state = "busy";
      return session;
    }
    return undefined;
  }

  giveBack(session: PooledSession): void {
    if (session.state === "lost" || session.state === "failed") return;
    session.state = "idle";
    this.#onChange();
  }

  /** A signature was made: what failed before it was not the beginning of the end. */
  succeeded(): void {
    this.#strikes = 0;
  }

  /** The session failed while it was taken. Brings it back by the table of CKR codes. */
  async failed(session: PooledSession, error: unknown): Promise<void> {
    if (this.#closed || isLost(session)) return;
    // A fresh start of the module takes care of all sessions, or has done so.
    if (this.#paused || error instanceof SupersededError) return;
    const epoch = this.#epoch;
    session.state = "recovering";
    session.keys.clear();
    let action = recoveryAction(error);
    if (action === "repeated") {
      this.#strikes += 1;
      action = this.#strikes >= REPEATED_LIMIT ? "reinitialize" : "session";
    }
    // Whoever logged out or removed keys did it to all sessions of the token.
    if (action === "login") for (const other of this.#sessions) other.keys.clear();
    if (action === "reinitialize" && (await this.#host.reinitialize(error))) return;
    if (epoch !== this.#epoch) return;
    this.#checkIdle();
    if (session.thread.ended) {
      this.#sessions.delete(session);
      return this.#fill();
    }
    await this.#bringUp(session);
  }

  /** Commands for one session, valid until the module is initialised anew. */
  commands(session: PooledSession): RunCommand {
    const epoch = this.#epoch;
    return (name, input, hangMs = SETUP_HANG_MS) => this.#run(session, epoch, name, input, hangMs);
  }

  /** Why work cannot even wait. Undefined while it can. */
  down(): SignerError | undefined {
    return this.#paused ? undefined : whyDown([...this.#sessions]);
  }

  status(): SignerHealth["status"] {
    const status = statusOf([...this.#sessions], this.#lost.size);
    return this.#paused && status === "ready" ? "degraded" : status;
  }

  /** Stops dispatching; nothing that was begun before goes on after its next command. */
  pause(): void {
    this.#epoch += 1;
    this.#paused = true;
  }

  /** Resolves once no thread is inside a call, lost ones excepted. */
  async drained(): Promise<void> {
    await Promise.all([...this.#sessions].map(({ thread }) => thread.drained()));
  }

  /** Drops every session, and finalises the instances that belong to single threads. `gone`: the module is finalised. */
  async release(gone: boolean): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => dropSession(session, gone)));
  }

  /** Opens all sessions after the module was initialised anew. True when at least one is ready. */
  async restore(list: TokenList): Promise<boolean> {
    if (this.#closed) return true;
    const token = findAgain(list, this.#token);
    if (token !== undefined) this.#token = token;
    const label = JSON.stringify(this.#token.label);
    const missing = new SignerError("unavailable", `the token ${label} is not present`);
    await Promise.all(
      [...this.#sessions].map(async (session) => {
        session.state = "recovering";
        try {
          if (token === undefined) throw missing;
          await this.#setUp(session);
          session.state = "idle";
        } catch (error) {
          if (!isLost(session)) this.#fail(session, error);
        }
      }),
    );
    this.#paused = false;
    this.#onChange();
    this.#fill();
    return [...this.#sessions].some(({ state }) => state === "idle" || state === "busy");
  }

  /** Tries failed sessions again, later. */
  #retryLater(): void {
    if (this.#retryTimer !== undefined || this.#closed || this.#login.refusal !== undefined) return;
    // As soon as the module may be initialised anew. When it may already, something else forbids it.
    const wait = this.#host.reinitializeInMs();
    this.#retryTimer = setTimeout(
      () => void this.#retry(),
      wait === 0 ? RETRY_INTERVAL_MS : Math.min(wait, RETRY_INTERVAL_MS),
    ).unref();
  }

  /** Lets what runs come back, then closes the sessions. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retryTimer);
    await this.drained();
    this.#epoch += 1;
    await Promise.all([...this.#sessions].map(endSession));
    this.#sessions.clear();
  }

  /** What ended one session has often ended the others: found out now, it costs no request its second attempt. */
  #checkIdle(): void {
    for (const session of this.#sessions) {
      if (session.state !== "idle") continue;
      session.state = "busy";
      void this.#check(session);
    }
  }

  async #check(session: PooledSession): Promise<void> {
    try {
      const { loginNeeded } = await this.commands(session)("session", null);
      if (!loginNeeded) return this.giveBack(session);
      await this.#bringUp(session);
    } catch (error) {
      await this.failed(session, error);
    }
  }

  async #startFirst(): Promise<void> {
    const session = createSession();
    this.#sessions.add(session);
    try {
      await this.#setUp(session);
      this.giveBack(session);
    } catch (error) {
      if (error instanceof SupersededError && (await this.#openedMeanwhile(session))) return;
      this.#sessions.delete(session);
      this.#starting = undefined;
      if (!isLost(session)) await endSession(session);
      throw error;
    }
  }

  /** Whether the fresh start that overtook us has opened the session. */
  async #openedMeanwhile(session: PooledSession): Promise<boolean> {
    await this.#host.settled();
    return session.state === "idle" || session.state === "busy";
  }

  /** Starts what is missing, at most as many threads again as are lost. */
  #fill(): void {
    while (this.#sessions.size < this.#target && this.#sessions.size + this.#lost.size < 2 * this.#target) {
      if (this.#closed || this.#paused) return;
      const session = createSession();
      this.#sessions.add(session);
      void this.#bringUp(session);
    }
  }

  async #bringUp(session: PooledSession): Promise<void> {
    if (this.#closed || this.#paused) return;
    const epoch = this.#epoch;
    try {
      await this.#setUp(session);
      this.giveBack(session);
    } catch (error) {
      if (this.#closed || isLost(session) || epoch !== this.#epoch) return;
      if (isSessionCount(error) && this.#sessions.size > 1) return this.#doWithout(session);
      if (this.#login.refusal === undefined && (await this.#host.reinitialize(error))) return;
      if (epoch === this.#epoch) this.#fail(session, error);
    }
  }

  /** The token allows no more sessions than there are. */
  async #doWithout(session: PooledSession): Promise<void> {
    this.#sessions.delete(session);
    this.#target = Math.min(this.#target, this.#sessions.size);
    await endSession(session);
  }

  /** Opens a session on a thread, logged in. */
  async #setUp(session: PooledSession): Promise<void> {
    this.#login.requireOpen();
    session.keys.clear();
    const run = this.commands(session);
    if (!session.initialized) {
      const { owner } = await run("initialize", this.#host.initializeInput());
      session.initialized = true;
      session.ownsInstance = owner;
    }
    const state = await run("openSession", { slotId: this.#token.slotId });
    if (state.loginNeeded) await this.#login.login(run);
  }

  #fail(session: PooledSession, error: unknown): void {
    session.state = "failed";
    session.error = error;
    this.#onChange();
    this.#retryLater();
  }

  async #retry(): Promise<void> {
    this.#retryTimer = undefined;
    const [first, ...others] = [...this.#sessions].filter(({ state }) => state === "failed");
    if (first === undefined) return this.#fill();
    await this.failed(first, first.error);
    // The others only once the first has shown that it helps.
    if (first.state === "failed") return this.#retryLater();
    const still = others.filter(({ state }) => state === "failed");
    await Promise.all(still.map((session) => this.failed(session, session.error)));
  }

  /** One command, watched: a call that does not return in time takes its thread out of the set. */
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
    this.#host.hanging(1);
    void this.#waitForLost(session, returned);
    this.#fill();
    this.#onChange();
  }

  async #waitForLost(session: PooledSession, returned: Promise<void>): Promise<void> {
    await returned;
    this.#lost.delete(session);
    this.#host.hanging(-1);
    this.#fill();
    await endSession(session);
  }
}

function isSessionCount(error: unknown): boolean {
  return error instanceof CommandError && error.code === CKR_SESSION_COUNT;
}
