import { VerifyError } from "@signpost/core";
import { assertOptions, readCallback, readWholeNumber } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { ReplayStore } from "./replay-store.ts";
import { assertClaim } from "./replay-store.ts";

/** Options of `createMemoryReplayStore`. */
export interface MemoryReplayStoreOptions {
  /**
   * Most ids kept. When all of them still count, a new one is refused: forgetting one would let it be replayed. A whole number,
   * 1 to 10,000,000, default 100,000.
   */
  readonly maxEntries?: number | undefined;
  /** Gives monotonic milliseconds. Default `performance.now`. */
  readonly clock?: (() => number) | undefined;
}

/** Whoever filled the store would otherwise buy a sweep of all of it with each further claim. */
const CROWDED_SWEEP_INTERVAL_MS = 1000;

const MEMORY_REPLAY_STORE_OPTIONS: OptionNames<MemoryReplayStoreOptions> = { maxEntries: true, clock: true };

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
  const { maxEntries = 100_000, clock = () => performance.now() } = options;
  readWholeNumber("maxEntries", maxEntries, 1, 10_000_000);
  readCallback("clock", clock);
  const expiries = new Map<string, number>();
  let sweepAtSize = Math.min(maxEntries, 1024);
  let nextSweepAt = Number.NEGATIVE_INFINITY;

  /** Each sweep is paid for by as many claims as it leaves entries; where they do not fit any more, by time. */
  function sweep(now: number): void {
    for (const [id, expiry] of expiries) if (expiry <= now) expiries.delete(id);
    sweepAtSize = Math.min(maxEntries, Math.max(1024, expiries.size * 2));
    nextSweepAt = expiries.size * 2 > maxEntries ? now + CROWDED_SWEEP_INTERVAL_MS : now;
  }

  return {
    async claim(id, ttlMs) {
      assertClaim(id, ttlMs);
      const now = clock();
      const expiry = expiries.get(id);
      if (expiry !== undefined && expiry > now) return false;
      if (expiry === undefined && expiries.size >= sweepAtSize && now >= nextSweepAt) sweep(now);
      if (expiry === undefined && expiries.size >= maxEntries) {
        throw new VerifyError("replay_store_full", `the replay store holds ${maxEntries} ids that still count`);
      }
      expiries.set(id, now + ttlMs);
      return true;
    },
    async ready() {},
  };
}
