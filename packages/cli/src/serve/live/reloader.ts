import { failureOf, type Failure } from "../../program/failure.ts";

/** Why the configuration is loaded. */
export type Reason = "start" | "change" | "signal" | "retry";

/** How the last load ended. */
export interface Outcome {
  readonly at: Date;
  readonly reason: Reason;
  readonly failure: Failure | undefined;
  /** The same load is tried again after this time. Undefined if it is not. */
  readonly retryMs: number | undefined;
}

export interface Reloader {
  /** Loads as soon as no other load runs. Several requests meanwhile are one. */
  request(reason: Reason): void;
  readonly last: () => Outcome | undefined;
}

export interface ReloaderOptions {
  /** `again`: keys that were read before are read again. */
  readonly load: (again: boolean) => Promise<void>;
  readonly onOutcome: (outcome: Outcome, error: unknown) => void;
  /** The pause after a failure, of so many in a row. Undefined if only help from outside can end it. */
  readonly retryAfterMs: (error: unknown, failures: number) => number | undefined;
  readonly signal: AbortSignal;
}

/** Loads one at a time, and tries again after a failure that may pass. */
export function createReloader({ load, onOutcome, retryAfterMs, signal }: ReloaderOptions): Reloader {
  let wanted: Reason | undefined;
  let running = false;
  let again = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let last: Outcome | undefined;

  const attempt = async (reason: Reason): Promise<void> => {
    const readsAgain = again;
    // A request during the load is for the next one.
    again = false;
    const error = await load(readsAgain).then(
      () => undefined,
      (thrown: unknown) => thrown ?? new TypeError("nothing was thrown"),
    );
    if (signal.aborted) return;
    failures = error === undefined ? 0 : failures + 1;
    const retryMs = error === undefined ? undefined : retryAfterMs(error, failures);
    if (retryMs !== undefined) again ||= readsAgain;
    const failure = error === undefined ? undefined : failureOf(error);
    last = { at: new Date(), reason, failure, retryMs };
    onOutcome(last, error);
    if (retryMs === undefined) return;
    timer = setTimeout(() => request("retry"), retryMs);
  };

  const work = async (): Promise<void> => {
    running = true;
    while (wanted !== undefined && !signal.aborted) {
      const reason = wanted;
      wanted = undefined;
      clearTimeout(timer);
      await attempt(reason);
    }
    running = false;
  };

  const request = (reason: Reason): void => {
    again ||= reason === "signal";
    if (reason !== "retry") failures = 0;
    wanted = reason;
    if (!running) void work();
  };

  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return { request, last: () => last };
}
