import { SignerError } from "../errors.ts";
import { endedError } from "./endings.ts";
import type { Ending } from "./attempt-controller.ts";

/** How long a backend may take to settle after its signal. Milliseconds. */
const SETTLE_MS = 1000;

/** The default concurrency of a guard. */
const DEFAULT_OVERDUE = 16;

/** The attempts of one signer. None outlives its signal by more than a second, and only a few may be unsettled after it. */
export interface Settling {
  /** Number of calls that had not settled a second after their signal, and still have not. */
  readonly leftBehind: number;
  /** How many calls may be unsettled after their signal. The largest count wins. */
  readonly allow: (count: number) => void;
  /** Makes a call. If too many calls are unsettled after their signal, rejects with `unavailable` without a call. */
  readonly run: (call: () => Promise<Uint8Array>, ending: Ending | undefined) => Promise<Uint8Array>;
}

export function createSettling(): Settling {
  /** Calls that have not settled after their signal. */
  const overdue = new Set<Promise<Uint8Array>>();
  /** The ones that were abandoned: their caller already has an error. */
  const left = new Set<Promise<Uint8Array>>();
  let allowed: number | undefined;

  return {
    get leftBehind() {
      return left.size;
    },
    allow: (count) => {
      allowed = Math.max(allowed ?? 0, count);
    },
    run: (start, ending) => {
      if (overdue.size >= (allowed ?? DEFAULT_OVERDUE)) return Promise.reject(tooManyOverdue(overdue.size));
      const call = started(start);
      // It has no signal, so it cannot outlive it.
      if (ending === undefined) return call;
      return new Promise((resolve, reject) => {
        let timer: NodeJS.Timeout | undefined;
        const leave = (): void => {
          left.add(call);
          reject(endedError(ending.reason));
        };
        const letGo = ending.onEnd(() => {
          overdue.add(call);
          timer = setTimeout(leave, SETTLE_MS);
        });
        const settled = (): void => {
          letGo();
          clearTimeout(timer);
          overdue.delete(call);
          left.delete(call);
        };
        call.then(
          (signature) => {
            settled();
            resolve(signature);
          },
          (error: unknown) => {
            settled();
            reject(error);
          },
        );
      });
    },
  };
}

/** An error that is thrown synchronously also becomes a rejection. */
function started(start: () => Promise<Uint8Array>): Promise<Uint8Array> {
  try {
    // A backend in JavaScript may return anything.
    return Promise.resolve(start());
  } catch (error) {
    return Promise.reject(error);
  }
}

function tooManyOverdue(count: number): SignerError {
  const problem = `the backend has not answered ${count} earlier calls; no more are sent until one of them settles`;
  return new SignerError("unavailable", problem);
}
