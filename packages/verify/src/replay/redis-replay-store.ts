import { randomUUID } from "node:crypto";
import { ConfigurationError, SignerError, VerifyError } from "@signpost/core";
import {
  assertOptions,
  given,
  memberOf,
  readMilliseconds,
  safeCause,
  textMember,
  withinDeadline,
} from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { reasonOf } from "../causes.ts";
import type { ReplayStore } from "./replay-store.ts";
import { assertClaim } from "./replay-store.ts";

/**
 * The part of a Redis client that is used. Both common clients fit: `redis` takes a command as one list, `ioredis` as a name and a
 * list. You connect and close the client.
 */
export type RedisClientLike =
  | { sendCommand(command: string[]): Promise<unknown> }
  | { call(command: string, args: string[]): Promise<unknown> };

/** Options of `createRedisReplayStore`. */
export interface RedisReplayStoreOptions {
  /** Text before each id, to separate several uses of one Redis. It may be empty. Default `signpost:replay:`. */
  readonly keyPrefix?: string | undefined;
  /** Time for an answer. A later answer is ignored. Whole milliseconds, 1 to 60,000, default 1000. */
  readonly timeoutMs?: number | undefined;
}

const REDIS_REPLAY_STORE_OPTIONS: OptionNames<RedisReplayStoreOptions> = { keyPrefix: true, timeoutMs: true };

/**
 * A replay store for any number of processes. One atomic command, `SET … NX PX`, decides. While Redis does not answer, `claim`
 * rejects, and the assertion is refused.
 *
 * `claim` and `ready` reject with `VerifyError` `replay_store_unavailable`. Its `cause` is the error of the client, without the command. `claim` also
 * rejects with `ConfigurationError` for an invalid id or time. `ready` writes with the same command, because a replica or a full
 * Redis still answers but stores nothing.
 *
 * @throws ConfigurationError for an object that is not a Redis client, or an option that cannot work.
 * @example
 * ```ts
 * import { createRedisReplayStore } from "@signpost/verify";
 * import { createClient } from "redis";
 *
 * const client = createClient({ url: "redis://127.0.0.1:6379", disableOfflineQueue: true });
 * client.on("error", (error: Error) => console.error(`Redis: ${error.message}`));
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
  const send = async (command: string, ...args: string[]): Promise<unknown> =>
    "call" in client ? client.call(command, args) : client.sendCommand([command, ...args]);
  const setOnce = async (id: string, ttlMs: number): Promise<boolean> => {
    const key = keyPrefix + id;
    const mark = randomUUID();
    const reply = await withinTime({ client, timeoutMs, id }, async () => {
      const set = await send("SET", key, mark, "NX", "PX", String(Math.ceil(ttlMs)));
      // ioredis sends a command again if its connection closed before the reply. The first one may have stored the id.
      return set === null && (await send("GET", key).catch(() => undefined)) === mark ? "OK" : set;
    });
    if (reply === "OK") return true;
    if (reply === null) return false;
    throw unavailable("Redis returned neither OK nor null for SET");
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

/** Written to check that Redis stores ids. It expires after a millisecond, and `verifyClientAssertion` never makes this id. */
const READY_ID = "ready";

/** The command and its options. */
const MAX_SEND_COMMAND_PARAMETERS = 2;

function requireClient(client: unknown): void {
  const { call, sendCommand } = Object(client) as { readonly call?: unknown; readonly sendCommand?: unknown };
  if (typeof call === "function") return;
  if (typeof sendCommand !== "function") {
    throw new ConfigurationError("client", `expected a client of redis or ioredis, got ${given(client)}`);
  }
  // That of a cluster or a sentinel takes other arguments before the command, so each claim would fail.
  if (sendCommand.length <= MAX_SEND_COMMAND_PARAMETERS) return;
  throw new ConfigurationError(
    "client",
    "expected a client of one primary, got a cluster or a sentinel of the package redis",
  );
}

interface Claim {
  readonly client: RedisClientLike;
  readonly timeoutMs: number;
  readonly id: string;
}

/** While a client reconnects, it queues commands without a limit. */
async function withinTime<T>({ client, timeoutMs, id }: Claim, work: () => Promise<T>): Promise<T> {
  try {
    return await withinDeadline(work, {
      deadlineMs: timeoutMs,
      message: `Redis did not answer within ${timeoutMs} ms`,
    });
  } catch (error) {
    if (error instanceof SignerError && error.code === "timeout") throw unavailable(error.message);
    const reason =
      replyCode(error) ?? reasonOf(error) ?? (isOffline(client) ? "the client is not connected" : undefined);
    // Clients attach the command, and Redis repeats its arguments.
    const cause = safeCause(error, { members: ["code"], secrets: [id] });
    throw unavailable(`Redis cannot store ids${reason === undefined ? "" : `: ${reason}`}`, { cause });
  }
}

/** Both clients report this with a plain `Error`. */
function isOffline(client: RedisClientLike): boolean {
  const status = memberOf(client, "status");
  return memberOf(client, "isReady") === false || (typeof status === "string" && status !== "ready");
}

/** An error of Redis begins with its code, such as READONLY, OOM, LOADING or NOAUTH. The rest is only in the cause. */
function replyCode(error: unknown): string | undefined {
  return /^[A-Z]{2,32}(?= )/.exec(textMember(error, "message"))?.[0];
}

function unavailable(message: string, options?: ErrorOptions): VerifyError {
  return new VerifyError("replay_store_unavailable", message, { ...options, transient: true });
}
