import { isNotInitialized, isSessionCount, isTokenAway, SupersededError } from "../wire/command-error.ts";
import type { LoginState } from "../wire/commands.ts";
import { Recovery, type RecoveryParts } from "./recovery.ts";
import type { SessionOpener } from "./session-opener.ts";
import type { SessionSet } from "./session-set.ts";
import { isFailed, isLost, type PooledSession } from "./session.ts";

/** Opens single sessions of a token, reopens them after a failure, or sets them aside to be tried again later. */
export class SessionRevival {
  readonly #set: SessionSet;
  readonly #opener: SessionOpener;
  readonly #recovery: Recovery;
  readonly #fill: () => void;
  #recoveries = 0;
  #stopped = false;
  /** The token refused a session because it has too many. One session at a time tests whether it accepts more. */
  #full = false;

  /** `fill`: starts the missing sessions. */
  constructor(opener: SessionOpener, parts: RecoveryParts, fill: () => void) {
    this.#set = parts.set;
    this.#opener = opener;
    this.#recovery = new Recovery(parts, () => void this.retry());
    this.#fill = fill;
  }

  /** The number of failures that sessions have recovered from, or are recovering from. */
  get recoveries(): number {
    return this.#recoveries;
  }

  get full(): boolean {
    return this.#full;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** A signature was made. */
  succeeded(): void {
    this.#recovery.succeeded();
  }

  /** The module was initialized again, and every session with it. */
  startedAfresh(): void {
    this.#recoveries += 1;
    this.#recovery.succeeded();
  }

  stop(): void {
    this.#stopped = true;
    this.#recovery.stop();
  }

  /** The session failed while it was taken. Reopens it by the table of CKR codes. */
  async failed(session: PooledSession, error: unknown): Promise<void> {
    if (this.#stopped || isLost(session)) return;
    // A fresh start of the module handles all sessions, or has done so.
    if (this.#set.paused || error instanceof SupersededError) return;
    const { epoch } = this.#set;
    this.#recoveries += 1;
    session.state = "recovering";
    session.keys.clear();
    if ((await this.#recovery.startAfresh(session, error)) || epoch !== this.#set.epoch) return;
    await this.#check(session);
    if (epoch !== this.#set.epoch || this.#stopped || isLost(session)) return;
    await this.bringUp(session);
  }

  /** Opens a session and gives it back, or decides by the table what becomes of it. */
  async bringUp(session: PooledSession): Promise<void> {
    if (this.#stopped || this.#set.paused) return;
    if (session.thread.ended) {
      await this.#set.remove(session);
      return this.#fill();
    }
    const { epoch } = this.#set;
    const { token } = this.#opener;
    const isNew = session.state === "starting";
    if (!isNew) session.state = "recovering";
    try {
      // No other thread is inside such an instance, so it needs no fresh start of the whole module.
      if (!isNew) await this.#set.dropInstance(session);
      if (isLost(session)) return;
      await this.#opener.open(session);
    } catch (error) {
      if (this.#stopped || isLost(session) || epoch !== this.#set.epoch) return;
      if (this.#isForAll(session, error) && (await this.#recovery.startAfresh(session, error))) return;
      if (epoch !== this.#set.epoch) return;
      const hasMoved = isTokenAway(error) && (await this.#opener.hasMoved(token));
      if (epoch !== this.#set.epoch) return;
      return hasMoved ? this.bringUp(session) : this.putAside(session, error);
    }
    this.#recovery.opened();
    this.#set.giveBack(session);
    if (!isNew || !this.#full) return;
    this.#full = false;
    this.#fill();
  }

  /**
   * Whether a session that cannot be opened says something about the module. A token may refuse one session more than it has ever
   * held with any code, and a fresh start would end those that work. One that it held before needs the fresh start.
   */
  #isForAll(session: PooledSession, error: unknown): boolean {
    return isNotInitialized(error) || isTokenAway(error) || !this.#set.isFullWithout(session);
  }

  /** A session that could not be opened. It, or another one instead, is tried again later. */
  async putAside(session: PooledSession, error: unknown): Promise<void> {
    // The token allows no more sessions than there are: nothing is wrong with those.
    const isTooMany = isSessionCount(error) && this.#set.size > 1;
    if (isTooMany) this.#full = true;
    else this.#set.fail(session, error);
    if (!this.#stopped) this.#recovery.retryLater();
    if (isTooMany) await this.#set.remove(session);
  }

  /** Tries sessions that were put aside. */
  async retry(): Promise<void> {
    const [first, ...others] = this.#set.all.filter(isFailed);
    if (first !== undefined) {
      await this.bringUp(first);
      // The others only once the first has shown that it helps.
      if (isFailed(first)) return;
      await Promise.all(others.filter(isFailed).map((session) => this.bringUp(session)));
    }
    this.#fill();
  }

  /**
   * The cause that ended one session has often ended the others. Found now, it costs no request its second attempt. It is found
   * before any session is opened, because a token may reuse the number of a session that other code closed.
   */
  async #check(failed: PooledSession): Promise<void> {
    const idle = [...this.#set.takeAll()];
    const checks = await Promise.all([failed, ...idle].map((session) => this.#state(session)));
    for (const [index, session] of idle.entries()) {
      const check = checks[index + 1];
      if (check?.loginNeeded === false) this.#set.giveBack(session);
      else if (check?.loginNeeded === true) void this.bringUp(session);
      else void this.failed(session, check?.error);
    }
  }

  async #state(session: PooledSession): Promise<Partial<LoginState> & { readonly error?: unknown }> {
    try {
      return await this.#set.commands(session)("session", null);
    } catch (error) {
      return { error };
    }
  }
}
