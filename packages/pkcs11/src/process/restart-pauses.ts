const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** A module that crashes again and again gets less and less of the machine. */
export class RestartPauses {
  #starts = 0;

  /** The time before the next start: none at first, then one second, and twice as much each time. Milliseconds. */
  next(): number {
    const pause = this.#starts === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#starts - 1));
    this.#starts += 1;
    return pause;
  }

  /** A signature was made: the child is of use. */
  reset(): void {
    this.#starts = 0;
  }
}
