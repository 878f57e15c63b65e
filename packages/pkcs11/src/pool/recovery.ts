import type { RecoveryAction } from "../cryptoki/ckr.ts";
import { recoveryAction } from "../wire/command-error.ts";
import type { FreshStarts } from "./fresh-starts.ts";
import { ASK_AGAIN_MS, FIRST_RETRY_MS, REPEATED_LIMIT, RETRY_INTERVAL_MS } from "./limits.ts";
import type { TokenLogin } from "./login.ts";
import type { SessionSet } from "./session-set.ts";

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
  #retries = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: RecoveryParts, retry: () => void) {
    this.#parts = parts;
    this.#retry = retry;
  }

  /** Initializes the module again if the table says so for this error. True if that was done, for all sessions. */
  async startAfresh(error: unknown): Promise<boolean> {
    const { set, login, freshStarts } = this.#parts;
    if (login.refusal !== undefined) return false;
    const action = this.#actionFor(error);
    // A logout or a removed key affects all sessions of the token.
    if (action === "login") for (const other of set.all) other.keys.clear();
    return action === "reinitialize" && freshStarts.reinitialize(error);
  }

  /** A signature was made, or the module was initialized again, so earlier failures no longer count. */
  succeeded(): void {
    this.#strikes = 0;
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

  /** Follows the table of CKR codes. `repeated` counts, and becomes `session` or `reinitialize`. */
  #actionFor(error: unknown): Exclude<RecoveryAction, "repeated"> {
    const action = recoveryAction(error);
    if (action !== "repeated") return action;
    this.#strikes += 1;
    return this.#strikes >= REPEATED_LIMIT ? "reinitialize" : "session";
  }
}
