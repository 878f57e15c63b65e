import { ConfigurationError, VerifyError } from "@signpost/core";
import type { ReplayStore } from "./replay-store.ts";

export interface MemoryReplayStoreOptions {
  /** Most ids kept. When all of them still count, a new one is refused: forgetting one would let it be replayed. Default 100000. */
  readonly maxEntries?: number | undefined;
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly clock?: (() => number) | undefined;
}

/** Whoever filled the store would otherwise buy a sweep of all of it with each further claim. */
const CROWDED_SWEEP_INTERVAL_MS = 1000;

/** A replay store for an OP of one process. It forgets when the process ends. */
export function createMemoryReplayStore(options: MemoryReplayStoreOptions = {}): ReplayStore {
  const maxEntries = options.maxEntries ?? 100_000;
  if (!Number.isSafeInteger(maxEntries) || maxEntries < 1) {
    throw new ConfigurationError("maxEntries", "expected a whole number of at least 1");
  }
  const clock = options.clock ?? (() => performance.now());
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
