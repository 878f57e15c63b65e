import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { SecureContext } from "node:tls";
import { elapsedMs, isOutOfTime, readInstant } from "@signpost/core/adapter";
import type { AwsKmsApi, AwsKmsCallOptions } from "./api.ts";
import { CredentialsError } from "./credential-errors.ts";
import { isConnectionLoss } from "./error-table.ts";

/** How long a connection may be idle. Firewalls and load balancers forget one after 60 s or more. */
const IDLE_MS = 20_000;

/** The connections of one client. */
export interface Sockets {
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
  /** How long one of them may be idle. Milliseconds. */
  readonly idleMs: number;
  /** Closes the idle ones. */
  dropIdle(): void;
}

/** What TLS trusts. */
export interface Trust {
  /** Default: Node's authorities. */
  readonly secureContext?: SecureContext | undefined;
}

/** Makes agents that keep connections alive, and close them before the other side forgets them. */
export function createSockets(maxSockets: number, idleMs: number = IDLE_MS, tls: Trust = {}): Sockets {
  // Uses the most recent connection first, so that the others time out.
  const options = { keepAlive: true, maxSockets, timeout: idleMs, scheduling: "lifo" } as const;
  const agents = { httpAgent: new HttpAgent(options), httpsAgent: new HttpsAgent({ ...options, ...tls }) };
  const dropIdle = (): void => {
    for (const { freeSockets } of Object.values(agents)) {
      for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
    }
  };
  return { ...agents, idleMs, dropIdle };
}

/**
 * Closes every idle connection after one was found dead. The cause (a firewall that forgot it, a frozen process, a
 * restart of the other side) killed the others too, and each of them would cost one more attempt.
 */
export function withLiveSockets(api: AwsKmsApi, sockets: Pick<Sockets, "idleMs" | "dropIdle">): AwsKmsApi {
  let usedAt = readInstant();
  const call = async <Answer>({ signal }: AwsKmsCallOptions, send: () => Promise<Answer>): Promise<Answer> => {
    // In a frozen process, no timer has closed them.
    if (elapsedMs(usedAt) >= sockets.idleMs) sockets.dropIdle();
    try {
      return await send();
    } catch (error) {
      if (isOutOfTime(signal) || isConnectionLoss(error) || isLate(error)) sockets.dropIdle();
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

/** Whether credentials did not arrive in time, perhaps for the reason for which connections die. */
function isLate(error: unknown): boolean {
  return error instanceof CredentialsError && error.row.code === "timeout";
}
