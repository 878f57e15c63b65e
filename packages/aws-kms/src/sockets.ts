import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { elapsedMs, endedError, readInstant } from "@signpost/core/adapter";
import type { AwsKmsApi, AwsKmsCallOptions } from "./api.ts";
import { isConnectionLoss } from "./error-table.ts";

/** How long a connection may lie idle: well below the 60 s and more after which firewalls and balancers forget one. */
const IDLE_MS = 20_000;

/** The connections of one client. */
export interface Sockets {
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
  /** How long one of them may lie idle. Milliseconds. */
  readonly idleMs: number;
  /** Closes those that no call uses. */
  dropIdle(): void;
}

/** Connections that are kept alive, and closed before the other side forgets them. */
export function createSockets(maxSockets: number, idleMs: number = IDLE_MS): Sockets {
  // The one used last is used first, so that those that are not needed grow old and are closed.
  const options = { keepAlive: true, maxSockets, timeout: idleMs, scheduling: "lifo" } as const;
  const agents = { httpAgent: new HttpAgent(options), httpsAgent: new HttpsAgent(options) };
  const dropIdle = (): void => {
    for (const { freeSockets } of Object.values(agents)) {
      for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
    }
  };
  return { ...agents, idleMs, dropIdle };
}

/**
 * Closes every idle connection after one of them turned out to be dead: what killed it (a firewall that forgot it, a
 * frozen process, a restart of the other side) killed the others too, and each would cost one more attempt.
 */
export function withLiveSockets(api: AwsKmsApi, sockets: Sockets): AwsKmsApi {
  let usedAt = readInstant();
  const call = async <Answer>({ signal }: AwsKmsCallOptions, send: () => Promise<Answer>): Promise<Answer> => {
    // In a process that was frozen no timer has closed them.
    if (elapsedMs(usedAt) >= sockets.idleMs) sockets.dropIdle();
    try {
      return await send();
    } catch (error) {
      if (isOutOfTime(signal) || isConnectionLoss(error)) sockets.dropIdle();
      throw error;
    } finally {
      usedAt = readInstant();
    }
  };
  return {
    getPublicKey: (input, options) => call(options, () => api.getPublicKey(input, options)),
    sign: (input, options) => call(options, () => api.sign(input, options)),
  };
}

/** A caller who gives up says nothing about connections; an attempt that had no answer in time does. */
function isOutOfTime(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && endedError(signal.reason).code === "timeout";
}
