import { SignerError } from "../errors.ts";
import { endedError } from "./endings.ts";
import { onAbort } from "./on-abort.ts";

/** How long a backend may take to settle after its signal. Milliseconds. */
const SETTLE_MS = 1000;

/** As many as a guard lets through at once by default. */
const DEFAULT_OVERDUE = 16;

/** The attempts of one signer: none outlives its signal by more than a second, and few run past it. */
export interface Settling {
  /** Calls that had not settled a second after their signal, and have not until now. */
  readonly leftBehind: number;
  /** How many calls may run past their signal. The largest of all that were said counts. */
  readonly allow: (count: number) => void;
  /** Rejects with `unavailable` when too many run past their signal, and then calls nothing. */
  readonly run: (call: () => Promise<Uint8Array>, signal: AbortSignal | undefined) => Promise<Uint8Array>;
}

export function createSettling(): Settling {
  /** Calls that run past their signal. */
  const overdue = new Set<Promise<Uint8Array>>();
  /** Those of them whose caller was let go. */
  const left = new Set<Promise<Uint8Array>>();
  let allowed: number | undefined;

  return {
    get leftBehind() {
      return left.size;
    },
    allow: (count) => {
      allowed = Math.max(allowed ?? 0, count);
    },
    run: (start, signal) => {
      if (overdue.size >= (allowed ?? DEFAULT_OVERDUE)) return Promise.reject(tooManyOverdue(overdue.size));
      const call = start();
      return new Promise((resolve, reject) => {
        let timer: NodeJS.Timeout | undefined;
        const leave = (): void => {
          left.add(call);
          reject(endedError(signal?.reason));
        };
        const letGo = onAbort(signal, () => {
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

function tooManyOverdue(count: number): SignerError {
  const problem = `${count} earlier calls have not come back from the backend; no more are sent until one does`;
  return new SignerError("unavailable", problem);
}
