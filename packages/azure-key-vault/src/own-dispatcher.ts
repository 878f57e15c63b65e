import { ConfigurationError, SignerError } from "@signpost/core";
import {
  collectResponse,
  elapsedMs,
  isOutOfTime,
  readInstant,
  withinDeadline,
  type Instant,
  type OpeningPlan,
} from "@signpost/core/adapter";
import type { Agent, buildConnector } from "undici";
import type { AzureKeyVaultDispatcherLike } from "./api.ts";
import type { AzureKeyVaultTlsOptions } from "./client.ts";
import { isConnectionLoss } from "./error-table.ts";
import { maxBytesOf } from "./exchange.ts";
import { readCaFile } from "./tls-files.ts";
import { loadUndici } from "./undici.ts";

/** How long a connection may be idle. Azure's load balancers forget one after 4 minutes, other firewalls after 60 s. */
const IDLE_MS = 20_000;
/** For calls that a limiter of the caller limits. */
const MAX_SOCKETS = 256;
/** For calls that nothing limits. Each connection begins with a handshake, and 64 carry ten times what a vault allows. */
const BARE_SOCKETS = 64;
const MIN_SOCKETS = 16;

/** A dispatcher that is closed with its signer. */
export interface OwnDispatcher extends AzureKeyVaultDispatcherLike {
  /**
   * Says that a call of this dispatcher failed. If its connection was dead, the other idle ones are dead too, and the next
   * call makes a new one.
   */
  failed(error: unknown, startedAt: Instant, signal: AbortSignal): void;
  close(): Promise<void>;
}

/**
 * Makes an undici agent with connections that stay open. undici is loaded with the first one, because it takes longer to
 * load than the rest of this package and core together.
 *
 * @throws ConfigurationError for a file that cannot be read or used, or if undici does not load; SignerError `timeout`,
 * `aborted` for one that cannot be read in time.
 */
export async function createOwnDispatcher(tls: AzureKeyVaultTlsOptions, plan: OpeningPlan): Promise<OwnDispatcher> {
  const { caFile } = tls;
  // A file system may hang.
  const first = caFile === undefined ? undefined : await withinDeadline(() => readCaFile(caFile), plan.bounds);
  const undici = await loadUndici();
  // If no connection can be made, this leaves time for another attempt before the deadline.
  const timeout = Math.ceil(plan.bounds.attemptTimeoutMs / 2);
  const connect = connectorFor(undici.buildConnector, { tls, first, timeout });
  const open = (): Agent =>
    new undici.Agent({
      connections: socketsFor(plan),
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      connect,
      // The signal of each call ends it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  let agent = open();
  let usedAt = readInstant();
  let openedAt = usedAt;
  const replace = (): void => {
    const old = agent;
    agent = open();
    openedAt = readInstant();
    // Ends when its calls have ended.
    old.close().catch(() => {});
  };
  return {
    request: async (options) => {
      const now = readInstant();
      // In a frozen process, no timer has closed the connections.
      if (elapsedMs(usedAt, now) >= IDLE_MS) replace();
      usedAt = now;
      return collectResponse(agent, options, maxBytesOf(options.method));
    },
    failed: (error, startedAt, signal) => {
      // Calls that fail together replace the connections once.
      if (startedAt.monotonic < openedAt.monotonic) return;
      if (isOutOfTime(signal) || isConnectionLoss(error)) replace();
    },
    close: () => agent.destroy(),
  };
}

function socketsFor({ policy }: OpeningPlan): number {
  if (policy === false) return BARE_SOCKETS;
  if (policy.limiter !== undefined) return MAX_SOCKETS;
  return Math.max(MIN_SOCKETS, policy.concurrency ?? 0);
}

/** How much of the time for a connection may pass until a file is read. */
const READ_SHARE = 1 / 2;

type Connector = buildConnector.connector;

interface ConnectorPlan {
  readonly tls: AzureKeyVaultTlsOptions;
  /** What the file contained at first. Undefined without a file. */
  readonly first: string | undefined;
  /** How long a connection may take. Milliseconds. */
  readonly timeout: number;
}

/**
 * Makes connections with the current content of the file, which an operator may replace. While its mount hangs, with the last
 * content: its absence would say something about it, and a hang does not.
 */
function connectorFor(
  build: typeof buildConnector,
  { tls: { caFile, serverName }, first, timeout }: ConnectorPlan,
): Connector {
  const options = { timeout, ...(serverName !== undefined && { servername: serverName }) };
  if (caFile === undefined || first === undefined) return build(options);
  let known = { ca: first, connect: build({ ...options, ca: first }) };
  const connectorOf = (ca: string): Connector => {
    if (known.ca === ca) return known.connect;
    known = { ca, connect: build({ ...options, ca }) };
    return known.connect;
  };
  const deadlineMs = Math.ceil(timeout * READ_SHARE);
  const current = async (): Promise<Connector> => {
    try {
      return connectorOf(await withinDeadline(() => readCaFile(caFile), { deadlineMs }));
    } catch (error) {
      if (error instanceof SignerError && error.code === "timeout") return known.connect;
      throw error;
    }
  };
  return (target, callback) => {
    const fail = (error: unknown): void =>
      callback(error instanceof ConfigurationError ? unreadable(error) : (error as Error), null);
    current()
      .then((connect) => connect(target, callback))
      .catch(fail);
  };
}

/** An operator may be replacing the file, so the next attempt may find it. */
function unreadable(cause: ConfigurationError): SignerError {
  return new SignerError("unavailable", `no connection can be made: ${cause.message}`, { cause });
}
