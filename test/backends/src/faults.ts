import type { Fault } from "@signpost/conformance";

// The names of backend faults come from the conformance suite, so that every fake, harness and test uses the same ones.
// This is a fake's schedule of faults. A fake calls `take(operation)` once per request, and decides what a fault looks like
// on its wire.

export { SLOW_FAULT_MS } from "@signpost/conformance";
export type { Fault } from "@signpost/conformance";

/** One request that a fake received, in order of arrival. */
export interface RecordedCall {
  readonly operation: string;
  readonly fault: Fault | undefined;
}

/** `operation` is the backend's name for a call (`Sign`, `AsymmetricSign`). Without it, every call is affected. */
export interface FaultSchedule {
  /** Added to every call before it is answered. Milliseconds, default 0. */
  latencyMs: number;
  /** Every request so far, in order of arrival. */
  readonly calls: readonly RecordedCall[];
  /** The next `count` calls meet `fault`, after the ones that are already planned. */
  next(fault: Fault, count?: number, operation?: string): void;
  /** Each `nth` call meets `fault` (3: the third, the sixth, …, counted from now). */
  every(nth: number, fault: Fault, operation?: string): void;
  /** Every call meets `fault` until `off`. */
  on(fault: Fault, operation?: string): void;
  /** Cancels everything planned for `fault`. */
  off(fault: Fault): void;
  /** Cancels everything planned, sets the latency to 0 and forgets the recorded calls. */
  clear(): void;
  /** Records one request and returns its fault. Called by the fake, once per request. */
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
 * The switches that a conformance harness needs, for the faults that a fake supports. `operation` limits them to
 * one kind of call, so that opening still works.
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
