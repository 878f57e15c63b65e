import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, readNumber, readText } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";

/** Options of `claim`. */
export interface ReplayClaimOptions {
  /** The client of the id. A store with limited room gives each client a share of it. Default: no client, and no share. */
  readonly clientId?: string | undefined;
}

const REPLAY_CLAIM_OPTIONS: OptionNames<ReplayClaimOptions> = { clientId: true };

/** Keeps ids that may be used only once. */
export interface ReplayStore {
  /**
   * Takes `id` for `ttlMs` milliseconds. Returns true for the first caller, and false for every other until then, in any process. It
   * is atomic. `ttlMs` is 1 to 31,622,400,000 (366 days). If the store does not know, it rejects, and the token is refused.
   *
   * Two clients with the same id share it. A store may ignore the third argument.
   */
  claim(id: string, ttlMs: number, options?: ReplayClaimOptions): Promise<boolean>;
  /** Resolves while the store can be reached and can write. For a readiness check. */
  ready(): Promise<void>;
}

const MAX_TTL_MS = 366 * 86_400_000;

/** An id that is kept for 0 or `NaN` milliseconds would be accepted every time. */
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
