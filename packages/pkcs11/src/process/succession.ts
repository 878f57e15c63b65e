import { ConfigurationError, SignerError } from "@signpost/core";
import type { WireError } from "../wire/wire-error.ts";
import { ChildLink, type ChildLinkPins } from "./child-link.ts";
import { RestartPauses } from "./restart-pauses.ts";

/** What a succession reports about its children, and asks for them. */
export interface SuccessionEvents {
  /** The PINs, by number, for logins in a child. */
  readonly pins: ChildLinkPins;
  /** In this child no PIN is tried any more on the token of this key. */
  refused(child: ChildLink, key: number, error: WireError): void;
  /** The child is gone. */
  ended(): void;
  /** Whether a next child is needed. */
  wanted(): boolean;
  /** The next child is there, and holds no key yet. */
  succeeded(child: ChildLink): void;
}

/** The child process for one module, and a new one after each end, with growing pauses between. */
export class ChildSuccession {
  readonly #events: SuccessionEvents;
  readonly #pauses = new RestartPauses();
  #child: ChildLink | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastEnd: string | undefined;
  /** Its pause is over: the next one is started at its end. */
  #replaced: ChildLink | undefined;
  #closed = false;

  constructor(events: SuccessionEvents) {
    this.#events = events;
  }

  /** How the last child ended. */
  get lastEnd(): string | undefined {
    return this.#lastEnd;
  }

  isCurrent(child: ChildLink): boolean {
    return child === this.#child;
  }

  /**
   * The child, started if there is none. @throws SignerError `unavailable` between an end and the next start;
   * ConfigurationError
   */
  child(): ChildLink {
    // Another start now would be one more crash, and a second child next to the coming one.
    if (this.#timer !== undefined) throw this.notYet();
    return (this.#child ??= this.#start());
  }

  /** A signature was made: the next end counts as the first. */
  proven(): void {
    this.#pauses.reset();
  }

  /** How long a child that holds no key is kept before it is replaced. Milliseconds. */
  nextPause(): number {
    return this.#pauses.next();
  }

  /** Ends a child that was kept for a pause, and starts the next one at once. */
  replace(child: ChildLink, reason: string): void {
    this.#replaced = child;
    child.kill(reason);
  }

  /** Why a key is open in no child after an end. */
  notYet(): SignerError {
    return new SignerError(
      "unavailable",
      `the child process ended (${this.#lastEnd ?? ""}) and has not been restarted yet`,
    );
  }

  /** Ends the child, and starts no other. */
  async stop(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#child?.stop();
  }

  #start(): ChildLink {
    try {
      const child: ChildLink = new ChildLink({
        pins: this.#events.pins,
        refused: (key, error) => this.#events.refused(child, key, error),
        ended: (reason) => this.#ended(child, reason),
      });
      return child;
    } catch (cause) {
      if (cause instanceof ConfigurationError) throw cause;
      throw new SignerError("unavailable", "the child process could not be started", { cause });
    }
  }

  #ended(child: ChildLink, reason: string): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    this.#lastEnd = reason;
    this.#events.ended();
    if (this.#closed || !this.#events.wanted()) return;
    if (child === this.#replaced) this.#succeed();
    else this.#restart();
  }

  #restart(): void {
    const pause = this.#pauses.next();
    if (pause === 0) return this.#succeed();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#succeed();
    }, pause).unref();
  }

  #succeed(): void {
    if (!this.#events.wanted()) return;
    try {
      this.#child = this.#start();
    } catch (error) {
      this.#lastEnd = error instanceof Error ? error.message : "";
      return this.#restart();
    }
    this.#events.succeeded(this.#child);
  }
}
