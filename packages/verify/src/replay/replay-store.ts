import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, readNumber, readText } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";

/** Options of `claim`. */
export interface ReplayClaimOptions {
  /** Who brought the id: a store with little room gives each client a share of it. Default: no share, all of the room. */
  readonly clientId?: string | undefined;
}

const REPLAY_CLAIM_OPTIONS: OptionNames<ReplayClaimOptions> = { clientId: true };

/** Keeps what must be used once only. */
export interface ReplayStore {
  /**
   * Takes `id` for `ttlMs` milliseconds: true for the first, false for every other until then, by whichever process. Atomic.
   * `ttlMs` is 1 to 31,622,400,000 (366 days). Rejects where that cannot be said, which refuses the token.
   *
   * An id is one id, whichever client brings it. A store may leave the third argument alone.
   */
  claim(id: string, ttlMs: number, options?: ReplayClaimOptions): Promise<boolean>;
  /** Resolves while the store can be asked and can write: for a readiness check. */
  ready(): Promise<void>;
}

const MAX_TTL_MS = 366 * 86_400_000;

/** An id that is kept for no time, or for `NaN`, would be taken again and again. */
export function assertClaim(id: unknown, ttlMs: unknown, options: ReplayClaimOptions): void {
  readText("id", id);
  readNumber("ttlMs", ttlMs, 1, MAX_TTL_MS);
  assertOptions("options", options, REPLAY_CLAIM_OPTIONS);
  if (options.clientId !== undefined) readText("clientId", options.clientId);
}

/** The option `replayStore`. */
export function requireReplayStore(store: ReplayStore): ReplayStore {
  if (typeof (Object(store) as Partial<ReplayStore>).claim === "function") return store;
  throw new ConfigurationError("replayStore", `expected a replay store, got ${given(store)}`);
}
