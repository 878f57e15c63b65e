import { SignerError } from "../errors.ts";
import { endedError } from "./endings.ts";
import { onAbort } from "./on-abort.ts";

/** How long a backend may take to settle after its signal. Milliseconds. */
const SETTLE_MS = 1000;

/** As many as a guard lets through at once by default. */
const DEFAULT_LEFT_BEHIND = 16;

/** The attempts of one signer: none outlives its signal by more than a second, and few are left behind. */
export interface Settling {
  /** Calls that had not settled a second after their signal, and have not until now. */
  readonly leftBehind: number;
  /** How many may be. The largest of all that were said counts. */
  readonly allow: (count: number) => void;
  /** Rejects with `unavailable` when too many are left behind, and then calls nothing. */
  readonly run: (call: () => Promise<Uint8Array>, signal: AbortSignal | undefined) => Promise<Uint8Array>;
}

export function createSettling(): Settling {
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
      if (left.size >= (allowed ?? DEFAULT_LEFT_BEHIND)) return Promise.reject(tooManyLeft(left.size));
      const call = start();
      return new Promise((resolve, reject) => {
        let timer: NodeJS.Timeout | undefined;
        const letGo = onAbort(signal, () => {
          timer = setTimeout(() => {
            left.add(call);
            reject(endedError(signal?.reason));
          }, SETTLE_MS);
        });
        const settled = (): void => {
          letGo();
          clearTimeout(timer);
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

function tooManyLeft(count: number): SignerError {
  const problem = `${count} earlier calls have not come back from the backend; no more are sent until one does`;
  return new SignerError("unavailable", problem);
}
