import { asSignerError, SignerError } from "../errors.ts";
import type { CallScope } from "./scope.ts";

/** What an attempt needs of its call. */
export interface Endable {
  /** Calls `callback` when the attempt must end, or now. */
  onEnd(callback: (reason: SignerError) => void): void;
}

/** What becomes of an attempt in a race. One of the three is called. */
export interface Outcome {
  readonly signed: () => void;
  readonly failed: (error: SignerError) => void;
  /** The race was over before it ended. */
  readonly lost: () => void;
}

/** Several attempts for one call at the same time. The first good answer wins, and ends the others. */
export interface Race {
  /**
   * Resolves with the first signature. Rejects with the first error that is not transient, as a single attempt would. After
   * a transient error, the others go on. If all fail, rejects with the last error.
   */
  readonly result: Promise<Uint8Array>;
  readonly isOver: boolean;
  /** Starts an attempt. It ends when the call ends. */
  readonly run: (start: (scope: Endable) => Promise<Uint8Array>, outcome: Outcome) => void;
}

export function openRace(scope: CallScope): Race {
  /** How to end each attempt that runs. */
  const running = new Map<object, (reason: SignerError) => void>();
  let isOver = false;
  let resolve: (signature: Uint8Array) => void;
  let reject: (error: SignerError) => void;
  const result = new Promise<Uint8Array>((...settle) => {
    [resolve, reject] = settle;
  });
  const endAll = (reason: SignerError): void => {
    for (const end of running.values()) end(reason);
  };
  const finish = (): void => {
    isOver = true;
    // Not transient: it says nothing about the backend, so a failover stays where it is.
    if (running.size > 0) endAll(new SignerError("aborted", "another attempt of this call answered first"));
  };
  scope.onEnd(endAll);

  const run: Race["run"] = (start, outcome) => {
    const attempt = {};
    running.set(attempt, () => {});
    const branch: Endable = {
      onEnd: (callback) => {
        if (scope.ending === undefined) running.set(attempt, callback);
        else callback(scope.ending);
      },
    };
    start(branch).then(
      (signature) => {
        running.delete(attempt);
        if (isOver) return outcome.lost();
        finish();
        resolve(signature);
        outcome.signed();
      },
      (cause: unknown) => {
        running.delete(attempt);
        if (isOver) return outcome.lost();
        const error = asSignerError(cause);
        if (!error.transient || running.size === 0) finish();
        if (isOver) reject(error);
        outcome.failed(error);
      },
    );
  };

  return {
    result,
    get isOver() {
      return isOver;
    },
    run,
  };
}
