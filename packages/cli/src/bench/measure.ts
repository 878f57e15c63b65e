import { setImmediate } from "node:timers/promises";
import type { Side } from "./side.ts";
import { Tally } from "./tally.ts";

/** When a level ends: with the first limit that is reached. Each side has its own. */
export interface Limits {
  /** Calls of each side. */
  readonly calls: number;
  /** How long each side is measured. Milliseconds. */
  readonly durationMs: number;
}

export interface LevelOptions extends Limits {
  /** Calls at once. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Resolves when the signal aborts. A bare call may not know of the signal. */
  readonly ended: Promise<void>;
  /** Told of each call that ended. */
  readonly onCall: () => void;
  /** How many attempts the guard has made after the first, so far. */
  readonly repeats: () => number;
  /** How long callers wait while not one call ends. Milliseconds. Default 30,000. */
  readonly patienceMs?: number;
}

/** What was measured with one number of calls at once. */
export interface Level {
  readonly concurrency: number;
  /** In the order of the sides. */
  readonly tallies: readonly Tally[];
  /** Whether it was ended because nothing but failures came. */
  readonly gaveUp: boolean;
}

/** The sides take turns, so that what the machine and the network do meanwhile meets both. */
const MAX_ROUNDS = 10;
/** A round is long against its end, where callers run out one by one. */
const ROUND_MS = 1000;
const ROUND_CALLS = 20;

/** Measures all sides with one number of calls at once. Ends early if the signal aborts, with what was measured till then. */
export async function measureLevel(sides: readonly Side[], options: LevelOptions): Promise<Level> {
  const { concurrency, calls, durationMs } = options;
  const tallies = sides.map(() => new Tally());
  await Promise.all(sides.map((side) => warmUp(side, options)));
  const rounds = sides.length === 1 ? 1 : roundsOf(options);
  const streak = { failures: 0, most: Math.max(GIVE_UP_AFTER, 2 * concurrency) };
  for (let round = 0; round < rounds; round += 1) {
    const turn = sides.map((side, index) => ({ side, tally: tallies[index] ?? new Tally() }));
    // The first one changes, since it may find other caches than the second.
    for (const { side, tally } of round % 2 === 0 ? turn : turn.toReversed()) {
      const share = { calls: shareOf(calls, rounds, round), durationMs: durationMs / rounds };
      await measureRound(side, tally, { ...options, ...share }, streak);
    }
  }
  return { concurrency, tallies, gaveUp: isOver(streak) };
}

function roundsOf({ calls, durationMs, concurrency }: LevelOptions): number {
  const byTime = durationMs / ROUND_MS;
  const byCalls = calls / (ROUND_CALLS * concurrency);
  return Math.max(1, Math.min(MAX_ROUNDS, Math.floor(Math.min(byTime, byCalls))));
}

/** So many of the calls that all rounds together add up to them. */
function shareOf(calls: number, rounds: number, round: number): number {
  if (!Number.isFinite(calls)) return calls;
  return Math.floor((calls * (round + 1)) / rounds) - Math.floor((calls * round) / rounds);
}

/** One call for each caller: it opens the connections, and is not measured. */
export function warmUpCalls(concurrency: number): number {
  return concurrency;
}

async function warmUp(side: Side, { concurrency, ended, onCall, patienceMs }: LevelOptions): Promise<void> {
  const patience = createPatience(patienceMs);
  const call = (): Promise<void> =>
    side
      .sign()
      .then(onCall, () => undefined)
      .finally(patience.renew);
  const calls = Promise.all(Array.from({ length: warmUpCalls(concurrency) }, call));
  await Promise.race([ended, patience.over, calls]).finally(patience.stop);
}

/** A bare call has no limit of time. A server that accepts calls and answers none must not keep the command for good. */
const PATIENCE_MS = 30_000;

interface Patience {
  /** Resolves when no call has ended for so long. */
  readonly over: Promise<void>;
  /** A call has ended. */
  renew(): void;
  stop(): void;
}

function createPatience(ms = PATIENCE_MS): Patience {
  let last = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    // One timer for all calls, since one for each would be measured too.
    timer = setInterval(() => {
      if (performance.now() - last >= ms) resolve();
    }, ms / 10);
  });
  return { over, renew: () => void (last = performance.now()), stop: () => clearInterval(timer) };
}

/** Failures in a row, without a signature between them, after which there is nothing to measure. */
const GIVE_UP_AFTER = 20;

interface Streak {
  failures: number;
  readonly most: number;
}

function isOver({ failures, most }: Streak): boolean {
  return failures >= most;
}

/** Callers that each begin a call when their last one has ended. */
async function measureRound(side: Side, tally: Tally, options: LevelOptions, streak: Streak): Promise<void> {
  const { concurrency, calls, durationMs, signal, ended, onCall, repeats, patienceMs } = options;
  const start = performance.now();
  const repeatsBefore = repeats();
  let left = calls;
  let waiting = 0;
  let isLeft = false;
  const goesOn = (): boolean =>
    left > 0 && !signal.aborted && !isOver(streak) && performance.now() - start < durationMs;
  const breather = createBreather();
  const patience = createPatience(patienceMs);
  const caller = async (): Promise<void> => {
    while (goesOn()) {
      left -= 1;
      const began = performance.now();
      waiting += 1;
      try {
        await side.sign();
        if (isLeft) return;
        tally.record(performance.now() - began);
        streak.failures = 0;
      } catch (error) {
        // What the end of the command has ended is no failure of the backend.
        if (signal.aborted || isLeft) return;
        tally.fail(side.codeOf(error));
        streak.failures += 1;
      }
      waiting -= 1;
      patience.renew();
      onCall();
      await breather();
    }
  };
  const giveUp = patience.over.then(() => {
    isLeft = true;
    for (let call = 0; call < waiting; call += 1) tally.fail("no_answer");
    streak.failures = streak.most;
  });
  const callers = Promise.all(Array.from({ length: concurrency }, caller));
  await Promise.race([ended, giveUp, callers]).finally(patience.stop);
  tally.busyMs += performance.now() - start;
  tally.repeats += repeats() - repeatsBefore;
}

const BREATH_MS = 50;

/** Lets signals and the terminal have their turn, which calls that never wait for anything would take. */
function createBreather(): () => Promise<void> | undefined {
  let last = performance.now();
  let turn: Promise<void> | undefined;
  return () => {
    // All callers wait for one turn. If each had another, the first one would wait for the calls of all others.
    if (turn === undefined && performance.now() - last < BREATH_MS) return undefined;
    turn ??= setImmediate().then(() => {
      turn = undefined;
      last = performance.now();
    });
    return turn;
  };
}
