import type { SignerError } from "@signpost/core";
import type { TokenDescription, TokenList } from "../cryptoki/descriptions.ts";
import { findAgain, missingToken } from "../request/select-token.ts";
import { SupersededError } from "../wire/command-error.ts";
import type { TokenLogin } from "./login.ts";
import type { ModuleLife } from "./module-life.ts";
import { SessionOpener } from "./session-opener.ts";
import { SessionRevival } from "./session-revival.ts";
import { SessionSet } from "./session-set.ts";
import { isLost, isReady, type PooledSession } from "./session.ts";

/**
 * Keeps as many sessions on one token open as its signers want. A failed session is replaced and never used again. A
 * hanging one is abandoned. If a new session does not help, the module is started again.
 */
export class TokenSessions {
  readonly set: SessionSet;
  readonly #module: ModuleLife;
  readonly #login: TokenLogin;
  readonly #opener: SessionOpener;
  readonly #revival: SessionRevival;
  #target = 0;
  #starting: Promise<void> | undefined;

  /** `onChange`: a session became ready, or the last one failed. */
  constructor(token: TokenDescription, module: ModuleLife, login: TokenLogin, onChange: () => void) {
    this.#module = module;
    this.#login = login;
    const set = new SessionSet({
      onChange,
      onHanging: (difference) => {
        module.hanging.change(difference);
        this.#fill();
      },
    });
    this.set = set;
    this.#opener = new SessionOpener(token, module, login, set);
    this.#revival = new SessionRevival(this.#opener, { set, login, freshStarts: module.freshStarts }, () =>
      this.#fill(),
    );
  }

  get token(): TokenDescription {
    return this.#opener.token;
  }

  get all(): readonly PooledSession[] {
    return this.set.all;
  }

  /** The number of failures that sessions have recovered from, or are recovering from. */
  get recoveries(): number {
    return this.#revival.recoveries;
  }

  /** Sessions that should be open. */
  get target(): number {
    return this.#target;
  }

  /** Resolves once a first session is open and logged in. The others, `count` in all, follow in the background. */
  async start(count: number): Promise<void> {
    const most = this.token.maxSessions;
    this.#target = Math.max(this.#target, most === 0 ? count : Math.min(count, most));
    this.#login.requireOpen();
    this.#starting ??= this.#startFirst();
    await this.#starting;
    this.#fill();
  }

  /** Tries to reopen failed sessions now. */
  retry(): Promise<void> {
    return this.#revival.retry();
  }

  /** A signature was made. */
  succeeded(): void {
    this.#revival.succeeded();
  }

  /** The session failed while it was taken. */
  failed(session: PooledSession, error: unknown): Promise<void> {
    return this.#revival.failed(session, error);
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

  /** Opens all sessions after the module was initialized again. True if at least one is ready. */
  async restore(list: TokenList): Promise<boolean> {
    if (this.#revival.stopped) return true;
    const token = findAgain(list, this.token);
    if (token !== undefined) this.#opener.token = token;
    const missing = token === undefined ? missingToken(list, this.token) : undefined;
    this.#revival.startedAfresh();
    await Promise.all(this.all.map((session) => this.#reopen(session, missing)));
    this.set.resume();
    this.#fill();
    return this.all.some(isReady);
  }

  /** Lets running work finish, then closes the sessions. */
  async close(): Promise<void> {
    this.#revival.stop();
    await this.set.close();
  }

  async #startFirst(): Promise<void> {
    const session = this.set.add();
    try {
      await this.#opener.open(session);
      this.set.giveBack(session);
    } catch (error) {
      if (error instanceof SupersededError && (await this.#openedMeanwhile(session))) return;
      this.#starting = undefined;
      if (!isLost(session)) await this.set.remove(session);
      throw error;
    }
  }

  /** Whether the fresh start that came first has opened the session. */
  async #openedMeanwhile(session: PooledSession): Promise<boolean> {
    await this.#module.freshStarts.settled();
    return isReady(session);
  }

  async #reopen(session: PooledSession, problem: SignerError | undefined): Promise<void> {
    session.state = "recovering";
    try {
      if (problem !== undefined) throw problem;
      await this.#opener.open(session);
      session.state = "idle";
      session.jobs = 0;
    } catch (error) {
      if (!isLost(session)) await this.#revival.putAside(session, error);
    }
  }

  /** Starts the missing sessions. Replaces at most as many threads as are lost. */
  #fill(): void {
    while (this.set.size < this.#target && this.set.size + this.set.lost < 2 * this.#target) {
      if (this.#revival.stopped || this.set.paused) return;
      void this.#revival.bringUp(this.set.add());
      if (this.#revival.full) return;
    }
  }
}
