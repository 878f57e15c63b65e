import { ConfigurationError, SignerError, VerifyError } from "@signpost/core";
import { assertOptions, given, memberOf, readMilliseconds, withinDeadline } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { reasonOf } from "../causes.ts";
import type { ReplayStore } from "./replay-store.ts";
import { assertClaim } from "./replay-store.ts";

/**
 * What is used of a Redis client, so that both usual ones fit: `redis` sends a command as one list, `ioredis` by
 * name and list. The client stays yours: connected and closed by you.
 */
export type RedisClientLike =
  | { sendCommand(command: string[]): Promise<unknown> }
  | { call(command: string, args: string[]): Promise<unknown> };

/** Options of `createRedisReplayStore`. */
export interface RedisReplayStoreOptions {
  /** Goes before each id, to keep uses of one Redis apart. It may be empty. Default `signpost:replay:`. */
  readonly keyPrefix?: string | undefined;
  /** An answer that takes longer is none. Whole milliseconds, 1 to 60,000, default 1000. */
  readonly timeoutMs?: number | undefined;
}

const REDIS_REPLAY_STORE_OPTIONS: OptionNames<RedisReplayStoreOptions> = { keyPrefix: true, timeoutMs: true };

/**
 * A replay store for any number of processes: `SET … NX PX`, one atomic command. While Redis does not answer,
 * `claim` rejects, and what depends on it is refused.
 *
 * `claim` and `ready` reject with `VerifyError` `replay_store_unavailable`, whose `cause` is what the client rejects with; `claim`
 * also with `ConfigurationError` for an id or a time that is none. `ready` writes, by the same command: a replica and a Redis whose
 * memory is full still answer, and take no id.
 *
 * @throws ConfigurationError for a client that is none, or an option that cannot work.
 * @example
 * ```ts
 * import { createRedisReplayStore } from "@signpost/verify";
 * import { createClient } from "redis";
 *
 * const client = createClient({ url: "redis://127.0.0.1:6379" });
 * client.on("error", () => {});
 * await client.connect();
 * export const replayStore = createRedisReplayStore(client);
 * ```
 */
export function createRedisReplayStore(client: RedisClientLike, options: RedisReplayStoreOptions = {}): ReplayStore {
  assertOptions("options", options, REDIS_REPLAY_STORE_OPTIONS);
  requireClient(client);
  const { keyPrefix = "signpost:replay:", timeoutMs = 1000 } = options;
  if (typeof keyPrefix !== "string")
    throw new ConfigurationError("keyPrefix", `expected a string, got ${given(keyPrefix)}`);
  readMilliseconds("timeoutMs", timeoutMs, 60_000);
  const setOnce = async (id: string, ttlMs: number): Promise<boolean> => {
    const args = [keyPrefix + id, "1", "NX", "PX", String(Math.ceil(ttlMs))];
    const reply = await withinTime(timeoutMs, async () =>
      "call" in client ? client.call("SET", args) : client.sendCommand(["SET", ...args]),
    );
    if (reply === "OK") return true;
    if (reply === null) return false;
    throw unavailable("Redis gave an answer that SET does not have");
  };

  return {
    async claim(id, ttlMs, claimOptions = {}) {
      assertClaim(id, ttlMs, claimOptions);
      return setOnce(id, ttlMs);
    },
    async ready() {
      await setOnce(READY_ID, 1);
    },
  };
}

/** Written to find out whether Redis takes ids. It is gone after a millisecond, and is no id that `verifyClientAssertion` makes. */
const READY_ID = "ready";

function requireClient(client: unknown): void {
  const { call, sendCommand } = Object(client) as { readonly call?: unknown; readonly sendCommand?: unknown };
  if (typeof call === "function" || typeof sendCommand === "function") return;
  throw new ConfigurationError("client", `expected a client of redis or ioredis, got ${given(client)}`);
}

/** Clients queue commands while they reconnect, without end. */
async function withinTime<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  try {
    return await withinDeadline(work, {
      deadlineMs: timeoutMs,
      message: `Redis did not answer within ${timeoutMs} ms`,
    });
  } catch (error) {
    if (error instanceof SignerError && error.code === "timeout") throw unavailable(error.message);
    const reason = replyCode(error) ?? reasonOf(error);
    throw unavailable(`Redis cannot be asked${reason === undefined ? "" : `: ${reason}`}`, { cause: error });
  }
}

/** An error of Redis begins with its code, such as READONLY, OOM, LOADING or NOAUTH. What follows is left to the cause. */
function replyCode(error: unknown): string | undefined {
  return /^[A-Z]{2,32}(?= )/.exec(String(memberOf(error, "message")))?.[0];
}

function unavailable(message: string, options?: ErrorOptions): VerifyError {
  return new VerifyError("replay_store_unavailable", message, { ...options, transient: true });
}
