const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** Gives a module that keeps crashing less and less of the machine. */
export class RestartPauses {
  #starts = 0;

  /** The pause before the next start: first none, then one second, doubling each time. Milliseconds. */
  next(): number {
    const pause = this.#starts === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#starts - 1));
    this.#starts += 1;
    return pause;
  }

  /** A signature was made, so the child works. */
  reset(): void {
    this.#starts = 0;
  }
}
