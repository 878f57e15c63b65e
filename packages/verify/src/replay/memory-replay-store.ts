import { VerifyError } from "@signpost/core";
import {
  assertOptions,
  elapsedMs,
  elapsedOnBothMs,
  readCallback,
  readInstant,
  readWholeNumber,
} from "@signpost/core/adapter";
import type { Instant, OptionNames } from "@signpost/core/adapter";
import type { ReplayStore } from "./replay-store.ts";
import { assertClaim } from "./replay-store.ts";

/** Options of `createMemoryReplayStore`. */
export interface MemoryReplayStoreOptions {
  /**
   * Most ids kept. When all of them still count, a new one is refused: forgetting one would let it be replayed. A whole number,
   * 1 to 10,000,000, default 100,000.
   */
  readonly maxEntries?: number | undefined;
  /**
   * Gives monotonic milliseconds. Default `performance.now`. An id is kept until its time is over by this clock and by `now`: with
   * one alone, setting the wall clock forward would forget it early, and setting it back would make it replayable.
   */
  readonly clock?: (() => number) | undefined;
  /** Gives milliseconds since the epoch. It may be set. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** Whoever filled the store would otherwise buy a sweep of all of it with each further claim. */
const CROWDED_SWEEP_INTERVAL_MS = 1000;

const MEMORY_REPLAY_STORE_OPTIONS: OptionNames<MemoryReplayStoreOptions> = { maxEntries: true, clock: true, now: true };

/**
 * A replay store for an OP of one process. It forgets when the process ends.
 *
 * `claim` rejects with `VerifyError` `replay_store_full`, and with `ConfigurationError` for an id or a time that is none.
 *
 * @throws ConfigurationError for an option that cannot work.
 * @example
 * ```ts
 * import { createMemoryReplayStore } from "@signpost/verify";
 *
 * const replayStore = createMemoryReplayStore();
 * const first = await replayStore.claim("jti-1", 60_000);
 * ```
 */
export function createMemoryReplayStore(options: MemoryReplayStoreOptions = {}): ReplayStore {
  assertOptions("options", options, MEMORY_REPLAY_STORE_OPTIONS);
  const { maxEntries = 100_000, clock, now } = options;
  readWholeNumber("maxEntries", maxEntries, 1, 10_000_000);
  const clocks = { clock: readCallback("clock", clock), now: readCallback("now", now) };
  /** When each id is over: then, on both clocks. */
  const expiries = new Map<string, Instant>();
  let sweepAtSize = Math.min(maxEntries, 1024);
  let sweptAt = readInstant(clocks);
  let sweepPauseMs = 0;

  /** Each sweep is paid for by as many claims as it leaves entries; where they do not fit any more, by time. */
  function sweep(at: Instant): void {
    for (const [id, expiry] of expiries) if (isOver(expiry, at)) expiries.delete(id);
    sweepAtSize = Math.min(maxEntries, Math.max(1024, expiries.size * 2));
    sweptAt = at;
    sweepPauseMs = expiries.size * 2 > maxEntries ? CROWDED_SWEEP_INTERVAL_MS : 0;
  }

  return {
    async claim(id, ttlMs) {
      assertClaim(id, ttlMs);
      const at = readInstant(clocks);
      const expiry = expiries.get(id);
      if (expiry !== undefined && !isOver(expiry, at)) return false;
      if (expiry === undefined && expiries.size >= sweepAtSize && elapsedMs(sweptAt, at) >= sweepPauseMs) sweep(at);
      if (expiry === undefined && expiries.size >= maxEntries) {
        const message = `the replay store holds ${maxEntries} ids that still count`;
        throw new VerifyError("replay_store_full", message, { transient: true });
      }
      expiries.set(id, { monotonic: at.monotonic + ttlMs, wall: at.wall + ttlMs });
      return true;
    },
    async ready() {},
  };
}

function isOver(expiry: Instant, at: Instant): boolean {
  return elapsedOnBothMs(expiry, at) >= 0;
}
