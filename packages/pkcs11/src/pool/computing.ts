import { availableParallelism } from "node:os";

/** So many signatures in a row that did not sleep prove that the module computes, */
const COMPUTES_AFTER = 2;
/** and so many that slept that it does not. A module that computes sleeps sometimes, for a lock or a page of memory. */
const SLEEPS_AFTER = 4;
/** A thread that has been in one call for so long does not count, since it hangs rather than computes. Milliseconds. */
export const STUCK_MS = 25;

/**
 * Whether C_Sign of a module computes in this process, as in a software token, and how many threads may then compute. More
 * than there are processors only keep each other and the caller's thread waiting.
 */
export class Computing {
  readonly #most = Math.max(1, availableParallelism() - 1);
  #computed = 0;
  #slept = 0;
  #computes = false;

  /** As many as there are processors but one, which stays for the caller's thread. Without limit if it does not compute. */
  get threads(): number {
    return this.#computes ? this.#most : Number.POSITIVE_INFINITY;
  }

  /** The kernel said whether a C_Sign slept. */
  saw(slept: boolean): void {
    this.#slept = slept ? this.#slept + 1 : 0;
    this.#computed = slept ? 0 : this.#computed + 1;
    if (this.#computed >= COMPUTES_AFTER) this.#computes = true;
    if (this.#slept >= SLEEPS_AFTER) this.#computes = false;
  }
}
