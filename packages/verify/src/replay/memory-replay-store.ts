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
   * Maximum number of ids. If none of them has expired, a new one is refused, because a forgotten id could be replayed. Each client
   * gets at most a tenth of them, so one client cannot lock out the others. A whole number, 1 to 10,000,000, default 100,000.
   */
  readonly maxEntries?: number | undefined;
  /**
   * Returns monotonic milliseconds. An id is kept until its time is over by this clock and by `now`. With only one of them, a change
   * of the wall clock could make a used id acceptable again. Default `performance.now`.
   */
  readonly clock?: (() => number) | undefined;
  /** Returns milliseconds since the epoch. This clock may be changed. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The part of the store that one client may fill. */
const CLIENT_SHARE = 0.1;

/** Without it, a full store would be swept on every claim. */
const CROWDED_SWEEP_INTERVAL_MS = 1000;

const MEMORY_REPLAY_STORE_OPTIONS: OptionNames<MemoryReplayStoreOptions> = { maxEntries: true, clock: true, now: true };

/**
 * A replay store for an OP with one process and one thread. If each worker thread had its own, each would accept the same `jti`. The
 * ids are lost when the process ends.
 *
 * `claim` rejects with `VerifyError` `replay_store_full`, and with `ConfigurationError` for an invalid id or time.
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
  const maxShare = Math.max(1, Math.floor(maxEntries * CLIENT_SHARE));
  const entries = new Map<string, Entry>();
  const shares = new Map<string, Share>();
  let sweepAtSize = Math.min(maxEntries, 1024);
  let sweptAt = readInstant(clocks);
  let sweepPauseMs = 0;

  /** The next sweep waits for as many claims as this one leaves entries. If that many do not fit, it waits for a time. */
  function sweep(at: Instant): void {
    for (const [id, entry] of entries) if (isOver(entry, at)) forget(id, entry);
    sweepAtSize = Math.min(maxEntries, Math.max(1024, entries.size * 2));
    sweptAt = at;
    sweepPauseMs = entries.size * 2 > maxEntries ? CROWDED_SWEEP_INTERVAL_MS : 0;
  }

  function forget(id: string, { clientId }: Entry): void {
    entries.delete(id);
    if (clientId === undefined) return;
    const share = shares.get(clientId);
    share?.ids.delete(id);
    if (share?.ids.size === 0) shares.delete(clientId);
  }

  /** The same for the ids of one client, if its share is full. */
  function sweepShare(share: Share, at: Instant): void {
    if (elapsedMs(share.sweptAt, at) < CROWDED_SWEEP_INTERVAL_MS) return;
    share.sweptAt = at;
    for (const id of share.ids) {
      const entry = entries.get(id);
      if (entry !== undefined && isOver(entry, at)) forget(id, entry);
    }
  }

  /** Throws if there is no room for a new id. */
  function requireRoom(clientId: string | undefined, at: Instant): void {
    if (entries.size >= sweepAtSize && elapsedMs(sweptAt, at) >= sweepPauseMs) sweep(at);
    const share = clientId === undefined ? undefined : shares.get(clientId);
    if (share !== undefined && share.ids.size >= maxShare) sweepShare(share, at);
    if (share !== undefined && share.ids.size >= maxShare) {
      throw full(
        `the replay store holds ${maxShare} ids of this client that have not expired, which is the limit of one client`,
      );
    }
    if (entries.size >= maxEntries)
      throw full(`the replay store is full: ${maxEntries} ids have not expired; raise maxEntries`);
  }

  function keep(id: string, entry: Entry, at: Instant): void {
    entries.set(id, entry);
    if (entry.clientId === undefined) return;
    const share = shares.get(entry.clientId) ?? { ids: new Set(), sweptAt: at };
    shares.set(entry.clientId, share);
    share.ids.add(id);
  }

  return {
    async claim(id, ttlMs, claimOptions = {}) {
      assertClaim(id, ttlMs, claimOptions);
      const { clientId } = claimOptions;
      const at = readInstant(clocks);
      const known = entries.get(id);
      if (known !== undefined && !isOver(known, at)) return false;
      if (known !== undefined) forget(id, known);
      requireRoom(clientId, at);
      keep(id, { monotonic: at.monotonic + ttlMs, wall: at.wall + ttlMs, clientId }, at);
      return true;
    },
    async ready() {},
  };
}

/** A used id, with its expiry on both clocks. */
interface Entry extends Instant {
  readonly clientId: string | undefined;
}

/** The used ids of one client. */
interface Share {
  readonly ids: Set<string>;
  sweptAt: Instant;
}

function isOver(expiry: Instant, at: Instant): boolean {
  return elapsedOnBothMs(expiry, at) >= 0;
}

function full(message: string): VerifyError {
  return new VerifyError("replay_store_full", message, { transient: true });
}
