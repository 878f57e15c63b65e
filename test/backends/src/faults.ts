import type { Fault } from "@signpost/conformance";

// The vocabulary of what a backend can do wrong is the conformance suite's, so that every fake, harness and
// test uses the same words. This is the schedule by which a fake does it: a fake asks `take(operation)` once
// per request, and what a word looks like on its wire is the fake's business.

export { SLOW_FAULT_MS } from "@signpost/conformance";
export type { Fault } from "@signpost/conformance";

/** One request that a fake received, in order of arrival. */
export interface RecordedCall {
  readonly operation: string;
  readonly fault: Fault | undefined;
}

/** `operation` is the backend's own name of a call (`Sign`, `AsymmetricSign`); without it, every call is meant. */
export interface FaultSchedule {
  /** Added to every call before it is answered. Milliseconds, default 0. */
  latencyMs: number;
  /** Every request so far, in order of arrival. */
  readonly calls: readonly RecordedCall[];
  /** The next `count` calls meet `fault`, after those already planned this way. */
  next(fault: Fault, count?: number, operation?: string): void;
  /** Each `nth` call meets `fault` (3: the third, the sixth, …, counted from now). */
  every(nth: number, fault: Fault, operation?: string): void;
  /** Every call meets `fault` until `off`. */
  on(fault: Fault, operation?: string): void;
  /** Takes back everything planned for `fault`. */
  off(fault: Fault): void;
  /** Takes back everything planned, sets the latency to 0 and forgets the recorded calls. */
  clear(): void;
  /** Records one request and says what it meets. Called by the fake, once per request. */
  take(operation: string): Fault | undefined;
}

interface Plan {
  readonly fault: Fault;
  readonly operation: string | undefined;
  /** Calls left to meet; infinite for `on` and `every`. */
  left: number;
  readonly nth: number;
  seen: number;
}

export function createFaultSchedule(): FaultSchedule {
  let plans: Plan[] = [];
  let calls: RecordedCall[] = [];

  const add = (fault: Fault, operation: string | undefined, left: number, nth: number): void => {
    plans.push({ fault, operation, left, nth, seen: 0 });
  };

  return {
    latencyMs: 0,
    get calls(): readonly RecordedCall[] {
      return calls;
    },
    next(fault, count = 1, operation) {
      add(fault, operation, count, 1);
    },
    every(nth, fault, operation) {
      add(fault, operation, Number.POSITIVE_INFINITY, nth);
    },
    on(fault, operation) {
      add(fault, operation, Number.POSITIVE_INFINITY, 1);
    },
    off(fault) {
      plans = plans.filter((plan) => plan.fault !== fault);
    },
    clear() {
      plans = [];
      calls = [];
      this.latencyMs = 0;
    },
    take(operation) {
      let fault: Fault | undefined;
      for (const plan of plans) {
        if (plan.operation !== undefined && plan.operation !== operation) continue;
        plan.seen += 1;
        if (plan.seen % plan.nth !== 0) continue;
        fault = plan.fault;
        plan.left -= 1;
        break;
      }
      plans = plans.filter((plan) => plan.left > 0);
      calls.push({ operation, fault });
      return fault;
    },
  };
}

/**
 * The switches that a conformance harness needs, for the words that a fake can do. `operation` limits them to
 * one kind of call, where opening has to go on.
 *
 * @example
 * const harness = { open, secrets: [], faults: faultSwitches(fake.faults, ["hang", "throttle"]) };
 */
export function faultSwitches(
  schedule: FaultSchedule,
  faults: readonly Fault[],
  operation?: string,
): Partial<Record<Fault, (on: boolean) => Promise<void>>> {
  const switches: Partial<Record<Fault, (on: boolean) => Promise<void>>> = {};
  for (const fault of faults) {
    switches[fault] = async (on) => (on ? schedule.on(fault, operation) : schedule.off(fault));
  }
  return switches;
}
