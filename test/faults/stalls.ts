import { readFileSync } from "node:fs";

/** Knows when this process stood still: because the machine was busy, or because it was stopped. */
export interface StallWatch extends Disposable {
  /**
   * Starts to watch. The result says how long it stood still since then: by how much a timer was late at most, or, on Linux, how
   * long its main thread was ready to run and had no processor, whichever is more. Milliseconds.
   */
  begin(): () => number;
}

const EVERY_MS = 20;

/** Reads the clock of the machine, which the faults of clocks do not change. */
export function watchStalls(): StallWatch {
  const watching = new Set<{ latest: number }>();
  let last = process.hrtime.bigint();
  const look = (): void => {
    const now = process.hrtime.bigint();
    const lateMs = Number(now - last) / 1e6 - EVERY_MS;
    last = now;
    for (const one of watching) one.latest = Math.max(one.latest, lateMs);
  };
  const timer = setInterval(look, EVERY_MS).unref();
  return {
    begin: () => {
      const one = { latest: 0 };
      const waitedMs = runDelayMs();
      watching.add(one);
      return () => {
        look();
        watching.delete(one);
        return Math.max(one.latest, runDelayMs() - waitedMs);
      };
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** How long the main thread has waited for a processor. Milliseconds. */
function runDelayMs(): number {
  try {
    const [, waitedNs = "0"] = readFileSync("/proc/self/schedstat", "utf8").split(" ");
    return Number(waitedNs) / 1e6;
  } catch {
    // Other systems do not tell.
    return 0;
  }
}
