import { elapsedMs, readInstant, type Instant } from "../instant.ts";
import { isOutOfTime } from "../signer/endings.ts";
import { collectResponse, type CollectedResponse, type DispatcherLike, type HttpRequest } from "./collect-response.ts";

/** How long a connection may be idle. Azure's load balancers forget one after 4 minutes, other firewalls after 60 s. */
const IDLE_MS = 20_000;

/** What `createOwnAgent` uses of an undici agent. */
export interface AgentLike extends DispatcherLike {
  /** Lets the requests end, and closes the connections. */
  close(): Promise<void>;
  /** Ends the requests, and closes the connections. */
  destroy(): Promise<void>;
}

/** Options for an undici agent, in the words of undici. Milliseconds. */
export interface AgentTimes {
  /** How long a connection may be idle. */
  readonly keepAliveTimeout: number;
  /** The same, if the other side asks for more. */
  readonly keepAliveMaxTimeout: number;
  /** 0: the signal of each request ends it. */
  readonly headersTimeout: number;
  /** 0: the signal of each request ends it. */
  readonly bodyTimeout: number;
}

/** Makes requests over connections that stay open. */
export interface OwnAgent {
  /** Makes one request, and reads its response up to a limit. */
  request(options: HttpRequest & { readonly signal: AbortSignal }, maxBytes: number): Promise<CollectedResponse>;
  /**
   * Says that a request failed. If its connection was dead, the other idle ones are dead too (a firewall that forgot them, a
   * restart of the other side), and the next request makes a new one.
   */
  failed(error: unknown, startedAt: Instant, signal: AbortSignal): void;
  /** Ends the requests, and closes the connections. */
  close(): Promise<void>;
}

/**
 * Makes an undici agent, and replaces it when its connections may be dead: when they were idle for too long, and when a request
 * got no answer in time or lost its connection.
 *
 * @example
 * ```ts
 * import { createOwnAgent, type AgentLike, type AgentTimes } from "@signpost/core/adapter";
 *
 * declare class Agent implements AgentLike { // of undici
 *   constructor(options: AgentTimes & { connections: number });
 *   dispatch(): boolean;
 *   close(): Promise<void>;
 *   destroy(): Promise<void>;
 * }
 * const agent = createOwnAgent({
 *   open: (times) => new Agent({ ...times, connections: 16 }),
 *   isConnectionLoss: (error) => error instanceof Error && error.message === "other side closed",
 * });
 * ```
 */
export function createOwnAgent({
  open,
  isConnectionLoss,
}: {
  readonly open: (times: AgentTimes) => AgentLike;
  readonly isConnectionLoss: (error: unknown) => boolean;
}): OwnAgent {
  const times = { keepAliveTimeout: IDLE_MS, keepAliveMaxTimeout: IDLE_MS, headersTimeout: 0, bodyTimeout: 0 };
  let agent = open(times);
  let usedAt = readInstant();
  let openedAt = usedAt;
  const replace = (): void => {
    const old = agent;
    agent = open(times);
    openedAt = readInstant();
    // Ends when its requests have ended.
    old.close().catch(() => {});
  };
  return {
    request: async (options, maxBytes) => {
      const now = readInstant();
      // In a frozen process, no timer has closed the connections.
      if (elapsedMs(usedAt, now) >= IDLE_MS) replace();
      usedAt = now;
      return collectResponse(agent, options, maxBytes);
    },
    failed: (error, startedAt, signal) => {
      // Requests that fail together replace the connections once.
      if (startedAt.monotonic < openedAt.monotonic) return;
      if (isOutOfTime(signal) || isConnectionLoss(error)) replace();
    },
    close: () => agent.destroy(),
  };
}
