// The shared vocabulary of what a backend can do wrong, and the schedule by which a fake does it.
// A fake asks `take(operation)` once per request; what a word looks like on its wire is the fake's business.

/**
 * | word | what the client meets |
 * |---|---|
 * | `hang` | the request is taken, nothing ever comes back |
 * | `hang-after-headers` | status and headers, then silence |
 * | `reset` | the connection is torn down in the middle of the call |
 * | `throttle` | refused for now: rate or quota |
 * | `unavailable` | the backend's own transient failure (5xx, UNAVAILABLE) |
 * | `html` | a proxy's error page in place of the answer |
 * | `truncated` | the first half of the right answer, as if it were all |
 * | `empty` | a success without any member |
 * | `corrupted` | the right answer with bytes changed on the way |
 * | `wrong-key` | a true signature of another key, under that key's name |
 * | `foreign-signature` | a true signature of another key, under the right name |
 * | `bad-signature` | the right key, over another digest |
 * | `malformed-signature` | the right signature with a byte after its end |
 * | `expired-credentials`, `access-denied` | the caller is refused |
 * | `key-not-found`, `key-disabled`, `key-destroyed` | the key is gone or not usable |
 * | `key-pending` | the key is still being generated |
 */
export type BackendFault =
  | "hang"
  | "hang-after-headers"
  | "reset"
  | "throttle"
  | "unavailable"
  | "html"
  | "truncated"
  | "empty"
  | "corrupted"
  | "wrong-key"
  | "foreign-signature"
  | "bad-signature"
  | "malformed-signature"
  | "expired-credentials"
  | "access-denied"
  | "key-not-found"
  | "key-disabled"
  | "key-destroyed"
  | "key-pending";

/** One request that a fake received, in order of arrival. */
export interface RecordedCall<Word extends string = BackendFault> {
  readonly operation: string;
  readonly fault: Word | undefined;
}

/** `operation` is the backend's own name of a call (`Sign`, `AsymmetricSign`); without it, every call is meant. */
export interface FaultSchedule<Word extends string = BackendFault> {
  /** Added to every call before it is answered. Milliseconds, default 0. */
  latencyMs: number;
  /** Every request so far, in order of arrival. */
  readonly calls: readonly RecordedCall<Word>[];
  /** The next `count` calls meet `fault`, after those already planned this way. */
  next(fault: Word, count?: number, operation?: string): void;
  /** Each `nth` call meets `fault` (3: the third, the sixth, …, counted from now). */
  every(nth: number, fault: Word, operation?: string): void;
  /** Every call meets `fault` until `off`. */
  on(fault: Word, operation?: string): void;
  /** Takes back everything planned for `fault`. */
  off(fault: Word): void;
  /** Takes back everything planned, sets the latency to 0 and forgets the recorded calls. */
  clear(): void;
  /** Records one request and says what it meets. Called by the fake, once per request. */
  take(operation: string): Word | undefined;
}

interface Plan<Word extends string> {
  readonly fault: Word;
  readonly operation: string | undefined;
  /** Calls left to meet; infinite for `on` and `every`. */
  left: number;
  readonly nth: number;
  seen: number;
}

export function createFaultSchedule<Word extends string = BackendFault>(): FaultSchedule<Word> {
  let plans: Plan<Word>[] = [];
  let calls: RecordedCall<Word>[] = [];

  const add = (fault: Word, operation: string | undefined, left: number, nth: number): void => {
    plans.push({ fault, operation, left, nth, seen: 0 });
  };

  return {
    latencyMs: 0,
    get calls(): readonly RecordedCall<Word>[] {
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
      let fault: Word | undefined;
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
