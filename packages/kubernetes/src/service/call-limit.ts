/** Bounds the calls in progress. */
export interface CallLimit {
  /** Takes a place. Undefined if none is free, otherwise a function that gives it back. */
  enter(): (() => void) | undefined;
  /** Resolves when no call is in progress. */
  idle(): Promise<void>;
}

/** A limit without a queue: those that wait for a key are in the queue of its guard. */
export function createCallLimit(maxCalls: number): CallLimit {
  let active = 0;
  let waiting: (() => void)[] = [];
  return {
    enter() {
      if (active >= maxCalls) return undefined;
      active += 1;
      return () => {
        active -= 1;
        if (active > 0) return;
        for (const resolve of waiting) resolve();
        waiting = [];
      };
    },
    idle: () =>
      new Promise((resolve) => {
        if (active === 0) resolve();
        else waiting.push(resolve);
      }),
  };
}
