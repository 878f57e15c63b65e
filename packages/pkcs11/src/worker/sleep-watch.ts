import { readFileSync } from "node:fs";

/** After a change, so many more signatures are watched, */
const CONFIRMED_BY = 4;
/** and then one of so many. */
const EVERY = 128;
/** A signature that was computed and takes longer than this may be the first one that is not. Milliseconds. */
const LONG_MS = 2;

/**
 * Watches whether C_Sign sleeps, as it does for an HSM on the network, or computes in this thread. The kernel counts how
 * often a thread gave up its processor by itself. Such a count needs no threshold, and other work of the machine does not
 * change it.
 */
export class SleepWatch {
  readonly #report: (slept: boolean) => void;
  #slept: boolean | undefined;
  #toConfirm = CONFIRMED_BY;
  /** Signatures until the next one that is watched. */
  #left = 0;

  constructor(report: (slept: boolean) => void) {
    this.#report = report;
  }

  /** Makes a signature, and watches some of them. */
  during<Result>(sign: () => Result): Result {
    if (this.#left === 0) return this.#watched(sign);
    this.#left -= 1;
    if (this.#slept !== false) return sign();
    const startedAt = performance.now();
    const result = sign();
    if (performance.now() - startedAt > LONG_MS) this.#left = 0;
    return result;
  }

  #watched<Result>(sign: () => Result): Result {
    const before = timesSlept();
    const result = sign();
    const now = timesSlept();
    if (before === undefined || now === undefined) {
      this.#left = Number.POSITIVE_INFINITY;
      return result;
    }
    const slept = now !== before;
    this.#toConfirm = slept === this.#slept ? this.#toConfirm - 1 : CONFIRMED_BY;
    this.#slept = slept;
    this.#left = this.#toConfirm > 0 ? 0 : EVERY;
    this.#report(slept);
    return result;
  }
}

/** Undefined where the kernel does not say. */
function timesSlept(): number | undefined {
  try {
    const status = readFileSync("/proc/thread-self/status", "latin1");
    const found = /^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}
