import { SignerError } from "@signpost/core";
import { isSessionCount, SupersededError } from "../wire/command-error.ts";
import type { TokenDescription, TokenList } from "../wire/commands.ts";
import { findAgain } from "../request/select-token.ts";
import type { TokenLogin } from "./login.ts";
import type { ModuleHost } from "./module-host.ts";
import { Recovery } from "./recovery.ts";
import { SessionSet } from "./session-set.ts";
import { isFailed, isLost, isReady, type PooledSession } from "./session.ts";

/**
 * Keeps the sessions on one token alive: a failed session is replaced and never used again, a hung one is left to
 * itself, and what a new session does not cure goes to the module.
 */
export class TokenSessions {
  readonly set: SessionSet;
  #token: TokenDescription;
  readonly #host: ModuleHost;
  readonly #login: TokenLogin;
  readonly #recovery: Recovery = new Recovery(() => void this.#retry());
  #recoveries = 0;
  #target = 0;
  #closed = false;
  /** The token refused a session because it has too many. One at a time finds out whether it takes more by now. */
  #full = false;
  #starting: Promise<void> | undefined;

  /** `onChange`: a session became ready, or the last one failed. */
  constructor(token: TokenDescription, host: ModuleHost, login: TokenLogin, onChange: () => void) {
    this.#token = token;
    this.#host = host;
    this.#login = login;
    this.set = new SessionSet({
      onChange,
      onHanging: (difference) => {
        host.hanging(difference);
        this.#fill();
      },
    });
  }

  get token(): TokenDescription {
    return this.#token;
  }

  get all(): readonly PooledSession[] {
    return this.set.all;
  }

  /** Failures that sessions were brought back from, or are being. */
  get recoveries(): number {
    return this.#recoveries;
  }

  /** Sessions that are meant to be open. */
  get target(): number {
    return this.#target;
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

  /** A signature was made. */
  succeeded(): void {
    this.#recovery.succeeded();
  }

  /** The session failed while it was taken. Brings it back by the table of CKR codes. */
  async failed(session: PooledSession, error: unknown): Promise<void> {
    if (this.#closed || isLost(session)) return;
    // A fresh start of the module takes care of all sessions, or has done so.
    if (this.set.paused || error instanceof SupersededError) return;
    const { epoch } = this.set;
    this.#recoveries += 1;
    session.state = "recovering";
    session.keys.clear();
    if ((await this.#startAfresh(error)) || epoch !== this.set.epoch) return;
    await this.#check(session);
    if (epoch !== this.set.epoch || this.#closed || isLost(session)) return;
    await this.#bringUp(session);
  }

  pause(): void {
    this.set.pause();
  }

  drained(): Promise<void> {
    return this.set.drained();
  }

  release(gone: boolean): Promise<void> {
    return this.set.release(gone);
  }

  /** Opens all sessions after the module was initialised anew. True when at least one is ready. */
  async restore(list: TokenList): Promise<boolean> {
    if (this.#closed) return true;
    const token = findAgain(list, this.#token);
    if (token !== undefined) this.#token = token;
    const label = JSON.stringify(this.#token.label);
    const missing = new SignerError("unavailable", `the token ${label} is not present`);
    this.#recoveries += 1;
    this.#recovery.succeeded();
    await Promise.all(
      this.all.map(async (session) => {
        session.state = "recovering";
        try {
          if (token === undefined) throw missing;
          await this.#setUp(session);
          session.state = "idle";
        } catch (error) {
          if (!isLost(session)) await this.#putAside(session, error);
        }
      }),
    );
    this.set.resume();
    this.#fill();
    return this.all.some(isReady);
  }

  /** Lets what runs come back, then closes the sessions. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#recovery.stop();
    await this.set.close();
  }

  async #startFirst(): Promise<void> {
    const session = this.set.add();
    try {
      await this.#setUp(session);
      this.set.giveBack(session);
    } catch (error) {
      if (error instanceof SupersededError && (await this.#openedMeanwhile(session))) return;
      this.#starting = undefined;
      if (!isLost(session)) await this.set.remove(session);
      throw error;
    }
  }

  /** Whether the fresh start that overtook us has opened the session. */
  async #openedMeanwhile(session: PooledSession): Promise<boolean> {
    await this.#host.settled();
    return isReady(session);
  }

  /** Starts what is missing, at most as many threads again as are lost. */
  #fill(): void {
    while (this.set.size < this.#target && this.set.size + this.set.lost < 2 * this.#target) {
      if (this.#closed || this.set.paused) return;
      void this.#bringUp(this.set.add());
      if (this.#full) return;
    }
  }

  /** Opens a session and gives it back, or decides by the table what becomes of it. */
  async #bringUp(session: PooledSession): Promise<void> {
    if (this.#closed || this.set.paused) return;
    if (session.thread.ended) {
      await this.set.remove(session);
      return this.#fill();
    }
    const { epoch } = this.set;
    const isNew = session.state === "starting";
    if (!isNew) session.state = "recovering";
    try {
      // Nobody else is inside such an instance, so it needs no fresh start of the whole module.
      if (!isNew) await this.set.dropInstance(session);
      if (isLost(session)) return;
      await this.#setUp(session);
    } catch (error) {
      if (this.#closed || isLost(session) || epoch !== this.set.epoch) return;
      if ((await this.#startAfresh(error)) || epoch !== this.set.epoch) return;
      return this.#putAside(session, error);
    }
    this.#recovery.opened();
    this.set.giveBack(session);
    if (!isNew || !this.#full) return;
    this.#full = false;
    this.#fill();
  }

  /** Opens a session on a thread, logged in. */
  async #setUp(session: PooledSession): Promise<void> {
    this.#login.requireOpen();
    session.keys.clear();
    const run = this.set.commands(session);
    if (!session.initialized) {
      const { owner } = await run("initialize", this.#host.initializeInput());
      session.initialized = true;
      session.ownsInstance = owner;
    }
    const state = await run("openSession", { slotId: this.#token.slotId });
    if (state.loginNeeded) await this.#login.login(run);
  }

  /** Where the table wants the module initialised anew for an error: true when that was done, for all sessions. */
  async #startAfresh(error: unknown): Promise<boolean> {
    if (this.#login.refusal !== undefined) return false;
    const action = this.#recovery.actionFor(error);
    // Whoever logged out or removed keys did it to all sessions of the token.
    if (action === "login") for (const other of this.all) other.keys.clear();
    return action === "reinitialize" && this.#host.reinitialize(error);
  }

  /** A session that could not be opened. It, or another one instead, is tried again later. */
  async #putAside(session: PooledSession, error: unknown): Promise<void> {
    // The token allows no more sessions than there are: nothing is wrong with those.
    const isTooMany = isSessionCount(error) && this.set.size > 1;
    if (isTooMany) this.#full = true;
    else this.set.fail(session, error);
    this.#retryLater();
    if (isTooMany) await this.set.remove(session);
  }

  #retryLater(): void {
    if (this.#closed || this.#login.refusal !== undefined) return;
    this.#recovery.retryLater(this.#host.reinitializeInMs());
  }

  async #retry(): Promise<void> {
    const [first, ...others] = this.all.filter(isFailed);
    if (first !== undefined) {
      await this.#bringUp(first);
      // The others only once the first has shown that it helps.
      if (isFailed(first)) return;
      await Promise.all(others.filter(isFailed).map((session) => this.#bringUp(session)));
    }
    this.#fill();
  }

  /**
   * What ended one session has often ended the others: found out now, it costs no request its second attempt. And found
   * out before any is opened: a token may give the number of a session that others closed to the next one.
   */
  async #check(failed: PooledSession): Promise<void> {
    const idle = [...this.set.takeAll()];
    const checks = await Promise.all([failed, ...idle].map((session) => this.#state(session)));
    for (const [index, session] of idle.entries()) {
      const check = checks[index + 1];
      if (check?.loginNeeded === false) this.set.giveBack(session);
      else if (check?.loginNeeded === true) void this.#bringUp(session);
      else void this.failed(session, check?.error);
    }
  }

  async #state(session: PooledSession): Promise<{ readonly loginNeeded?: boolean; readonly error?: unknown }> {
    try {
      return await this.set.commands(session)("session", null);
    } catch (error) {
      return { error };
    }
  }
}
