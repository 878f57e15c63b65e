import { ArrivalQueue } from "./arrival-queue.ts";
import type { Limiter } from "./contract.ts";
import { callsWait } from "./slot.ts";

/** One hedge in so many calls: 5 %. */
const CALLS_PER_HEDGE = 20;
/** How many hedges may be saved up while none is needed. */
const MAX_SAVED = 10;

/** An attempt that takes too long. */
export interface LateAttempt {
  /** From `began`. */
  readonly order: number;
  /** Starts its hedge, which is already paid for. */
  readonly hedge: () => void;
}

/**
 * Which late attempts of a signer get a hedge. Each call pays for a part of one. In addition, there must be a good answer
 * that shows that the backend works, and each shows it for one hedge. If other attempts are in flight, it must be the answer
 * to one that began after this one, and come while this one is already late: when a backend stops answering, every attempt
 * becomes late, and none of them gets a hedge. An attempt that is alone has nothing to wait for.
 */
export interface Hedging {
  /** Milliseconds after which an attempt is late. */
  readonly afterMs: number;
  /** A call has made its first attempt. */
  called(): void;
  /** An attempt begins, also that of a hedge. Returns its place in the order of all attempts. */
  began(): number;
  /** An attempt has ended. `good`: whether its answer was. Undefined if it was ended before there was one. */
  ended(order: number, good: boolean | undefined): void;
  /** This attempt is late. Its hedge may start now, or later. Returns what to call if it needs no hedge any more. */
  late(attempt: LateAttempt): () => void;
  /** There was no slot for a hedge that was paid for. */
  refund(): void;
  /** A hedge was sent to the backend. */
  sent(): void;
  /** A hedge gave the call its signature. */
  won(): void;
  /** For the operator. */
  notes(): readonly string[];
}

export function createHedging(afterMs: number, limiter: Limiter): Hedging {
  const waiting = new ArrivalQueue<LateAttempt>();
  /** In calls, so that a hedge costs a whole number. */
  let saved = 0;
  let inFlight = 0;
  let begun = 0;
  /** Whether the last attempt had a good answer, and no hedge used it. */
  let proven = false;
  let calls = 0;
  let sent = 0;
  let won = 0;

  /** `proof`: the order of the attempt whose answer allows a hedge of those that began before it. */
  const hedgeNext = (proof: number): void => {
    // Calls that wait for a slot come first.
    if (!proven || saved < CALLS_PER_HEDGE || callsWait(limiter)) return;
    const [attempt] = waiting;
    // Its own answer comes too late for a hedge.
    if (attempt === undefined || attempt.order >= proof) return;
    waiting.next();
    proven = false;
    saved -= CALLS_PER_HEDGE;
    attempt.hedge();
  };

  return {
    afterMs,
    called: () => {
      calls += 1;
      saved = Math.min(saved + 1, MAX_SAVED * CALLS_PER_HEDGE);
    },
    began: () => {
      inFlight += 1;
      return (begun += 1);
    },
    ended: (order, good) => {
      inFlight -= 1;
      if (good === undefined) return;
      proven = good;
      hedgeNext(order);
    },
    late: (attempt) => {
      const leave = waiting.add(attempt);
      if (inFlight === 1) hedgeNext(Infinity);
      return leave;
    },
    refund: () => {
      saved = Math.min(saved + CALLS_PER_HEDGE, MAX_SAVED * CALLS_PER_HEDGE);
    },
    sent: () => {
      sent += 1;
    },
    won: () => {
      won += 1;
    },
    notes: () => (sent === 0 ? [] : [`hedged ${sent} of ${calls} calls; the hedge answered first in ${won}`]),
  };
}
