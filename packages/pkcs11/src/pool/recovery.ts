import type { RecoveryAction } from "../cryptoki/ckr.ts";
import { recoveryAction } from "../wire/command-error.ts";
import { FIRST_RETRY_MS, REPEATED_LIMIT, RETRY_INTERVAL_MS } from "./limits.ts";

/** What is done about the failures of a token's sessions, and when those that stay failed are tried again. */
export class Recovery {
  readonly #retry: () => void;
  #strikes = 0;
  #retries = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(retry: () => void) {
    this.#retry = retry;
  }

  /** By the table of CKR codes. `repeated` counts, and becomes `session` or `reinitialize`. */
  actionFor(error: unknown): Exclude<RecoveryAction, "repeated"> {
    const action = recoveryAction(error);
    if (action !== "repeated") return action;
    this.#strikes += 1;
    return this.#strikes >= REPEATED_LIMIT ? "reinitialize" : "session";
  }

  /** A signature was made, or the module initialised anew: what failed before is not the beginning of the end. */
  succeeded(): void {
    this.#strikes = 0;
  }

  /** A session could be opened. */
  opened(): void {
    this.#retries = 0;
  }

  /** Calls `retry` soon, and less soon each time. `reinitializeInMs`: not later than the module may be initialised anew. */
  retryLater(reinitializeInMs: number): void {
    if (this.#timer !== undefined) return;
    const wait = Math.min(RETRY_INTERVAL_MS, FIRST_RETRY_MS * 2 ** this.#retries);
    this.#retries += 1;
    // When it may already, something else forbids it.
    const delay = reinitializeInMs === 0 ? wait : Math.min(wait, reinitializeInMs);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#retry();
    }, delay).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
