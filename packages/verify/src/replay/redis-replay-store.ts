import { ConfigurationError, SignerError, VerifyError } from "@signpost/core";
import { withinDeadline } from "@signpost/core/adapter";
import type { ReplayStore } from "./replay-store.ts";

/**
 * What is used of a Redis client, so that both usual ones fit: `redis` sends a command as one list, `ioredis` by
 * name and list. The client stays yours: connected and closed by you.
 */
export type RedisClientLike =
  | { sendCommand(command: string[]): Promise<unknown> }
  | { call(command: string, args: string[]): Promise<unknown> };

export interface RedisReplayStoreOptions {
  /** Default `signpost:replay:`. */
  readonly keyPrefix?: string | undefined;
  /** An answer that takes longer is none. Milliseconds, 1 to 60000, default 1000. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A replay store for any number of processes: `SET … NX PX`, one atomic command. While Redis does not answer,
 * `claim` rejects, and what depends on it is refused.
 *
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
  const { keyPrefix = "signpost:replay:", timeoutMs = 1000 } = options;
  if (!Number.isFinite(timeoutMs) || timeoutMs < 1 || timeoutMs > 60_000)
    throw new ConfigurationError("timeoutMs", "expected a number from 1 to 60000");
  const send = (command: string, args: string[]): Promise<unknown> =>
    withinTime(timeoutMs, async () =>
      "call" in client ? client.call(command, args) : client.sendCommand([command, ...args]),
    );

  return {
    async claim(id, ttlMs) {
      if (!Number.isFinite(ttlMs)) throw new ConfigurationError("ttlMs", "expected a number");
      const reply = await send("SET", [keyPrefix + id, "1", "NX", "PX", String(Math.max(1, Math.ceil(ttlMs)))]);
      if (reply === "OK") return true;
      if (reply === null) return false;
      throw new VerifyError("replay_store_unavailable", "Redis gave an answer that SET does not have");
    },
    async ready() {
      await send("PING", []);
    },
  };
}

/** Clients queue commands while they reconnect, without end. */
async function withinTime<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  try {
    return await withinDeadline(work, {
      deadlineMs: timeoutMs,
      message: `Redis did not answer within ${timeoutMs} ms`,
    });
  } catch (error) {
    if (!(error instanceof SignerError) || error.code !== "timeout") throw error;
    throw new VerifyError("replay_store_unavailable", error.message);
  }
}
