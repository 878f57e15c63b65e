import type { Fault, FaultSchedule } from "@signpost/test-backends/faults";
import type { FaultSwitch } from "../backend.ts";
import type { Kind } from "../kinds.ts";

/** Kinds that are one fault of a fake, for calls that sign. */
const WORDS: Partial<Readonly<Record<Kind, Fault>>> = {
  slow: "slow",
  reset: "reset",
  "half-open": "hang",
  "half-answer": "hang-after-headers",
  unavailable: "unavailable",
  throttling: "throttle",
  "proxy-page": "html",
  truncated: "truncated",
  empty: "empty",
  corrupted: "corrupted",
  "out-of-range": "out-of-range-signature",
  "wrong-digest": "bad-signature",
  "foreign-signature": "foreign-signature",
  "wrong-key": "wrong-key",
  "access-denied": "access-denied",
  "key-disabled": "key-disabled",
  "key-gone": "key-not-found",
};

/** Latency of an answer, which an attempt has time for. Milliseconds. */
const LATENCY_MS = 120;

/** The faults that every fake of a service has. `operation`: the service's name for a signature. */
export function serviceFaults(
  schedule: FaultSchedule,
  operation: string,
): Partial<Readonly<Record<Kind, FaultSwitch>>> {
  const switches = Object.entries(WORDS).map(([kind, word]): [string, FaultSwitch] => [
    kind,
    { on: () => schedule.on(word, operation), off: () => schedule.off(word) },
  ]);
  return {
    ...Object.fromEntries(switches),
    latency: {
      on: () => {
        schedule.latencyMs = LATENCY_MS;
      },
      off: () => {
        schedule.latencyMs = 0;
      },
    },
    flaky: { on: () => schedule.every(3, "reset", operation), off: () => schedule.off("reset") },
  };
}

/** A service that goes away and comes back. It is away while the calls of the fault are made. */
export function restartSwitch(goAway: () => Promise<void>, comeBack: () => Promise<void>): FaultSwitch {
  return { on: goAway, off: comeBack };
}

/** Words for what is still open, if anything is. */
export function stillOpen(count: number, what: string): readonly string[] {
  return count === 0 ? [] : [`${count} ${what}`];
}
