import type { RecoveryAction } from "../cryptoki/ckr.ts";
import { recoveryAction } from "../wire/command-error.ts";
import type { FreshStarts } from "./fresh-starts.ts";
import { ASK_AGAIN_MS, FIRST_RETRY_MS, REPEATED_LIMIT, RETRY_INTERVAL_MS } from "./limits.ts";
import type { TokenLogin } from "./login.ts";
import type { SessionSet } from "./session-set.ts";
import type { PooledSession } from "./session.ts";

/** Added to the time in which no source is asked. Milliseconds. */
const AFTER_REFUSAL_MS = ASK_AGAIN_MS + 50;

/** What a token's recovery reads, and what it acts on. */
export interface RecoveryParts {
  readonly set: SessionSet;
  readonly login: TokenLogin;
  readonly freshStarts: FreshStarts;
}

/** Decides what to do about the failures of a token's sessions, and when to retry those that stay failed. */
export class Recovery {
  readonly #parts: RecoveryParts;
  readonly #retry: () => void;
  #strikes = 0;
  /** How often a session that was opened again, with a login if the token asked for one, needed that again. */
  readonly #logins: Map<PooledSession, number> = new Map();
  #retries = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: RecoveryParts, retry: () => void) {
    this.#parts = parts;
    this.#retry = retry;
  }

  /** Initializes the module again if the table says so for this error of a session. True if that was done, for all sessions. */
  async startAfresh(session: PooledSession, error: unknown): Promise<boolean> {
    const { set, login, freshStarts } = this.#parts;
    if (login.refusal !== undefined) return false;
    // A logout or a removed key affects all sessions of the token.
    if (recoveryAction(error) === "login") for (const other of set.all) other.keys.clear();
    const action = this.#actionFor(session, error);
    return action === "reinitialize" && freshStarts.reinitialize(error);
  }

  /** A signature was made, or the module was initialized again, so earlier failures no longer count. */
  succeeded(): void {
    this.#strikes = 0;
    this.#logins.clear();
  }

  /** A session could be opened. */
  opened(): void {
    this.#retries = 0;
  }

  /**
   * Retries soon, with growing delays, but not later than the module may be initialized again. After a refused PIN, retries
   * once its source may be asked for another one. Never retries if no PIN may be tried.
   */
  retryLater(): void {
    const { login, freshStarts } = this.#parts;
    if (login.finalRefusal !== undefined || this.#timer !== undefined) return;
    if (login.refusal !== undefined) return this.#retryIn(AFTER_REFUSAL_MS);
    const wait = Math.min(RETRY_INTERVAL_MS, FIRST_RETRY_MS * 2 ** this.#retries);
    this.#retries += 1;
    const reinitializeInMs = freshStarts.reinitializeInMs();
    // If it may do so already, something else prevents it.
    this.#retryIn(reinitializeInMs === 0 ? wait : Math.min(wait, reinitializeInMs));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #retryIn(delay: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#retry();
    }, delay).unref();
  }

  /** Follows the table of CKR codes. `repeated` counts, and becomes `session` or `reinitialize`. So does `login`, for each session. */
  #actionFor(session: PooledSession, error: unknown): Exclude<RecoveryAction, "repeated"> {
    const action = recoveryAction(error);
    if (action === "login") return this.#needsLogin(session);
    if (action !== "repeated") return action;
    this.#strikes += 1;
    return this.#strikes >= REPEATED_LIMIT ? "reinitialize" : "session";
  }

  /**
   * A module may believe that it is logged in, so that no new session logs in, and still refuse the key: its HSM was restarted, or
   * NSS's password changed. A logout fails in all sessions at once, which is no repetition. A private instance of the module is
   * initialized again with its session.
   */
  #needsLogin(session: PooledSession): "login" | "reinitialize" {
    const count = (this.#logins.get(session) ?? 0) + 1;
    this.#logins.set(session, count);
    return count >= REPEATED_LIMIT && !session.ownsInstance ? "reinitialize" : "login";
  }
}
