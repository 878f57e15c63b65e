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
import type { VaultTransitDispatcherLike } from "./api.ts";
import type { VaultTransitTlsOptions } from "./client.ts";
import { isConnectionLoss } from "./error-table.ts";
import { MAX_BODY_BYTES } from "./exchange.ts";
import { hasTlsFiles, readTlsFiles, requireUsable, type TlsMaterial } from "./tls-files.ts";
import { loadUndici } from "./undici.ts";

/** How long a connection may be idle. Firewalls and load balancers forget one after 60 s or more. */
const IDLE_MS = 20_000;
/** For calls whose number this package does not limit: those of a bare signer, or with a shared limiter. */
const MAX_SOCKETS = 256;
const MIN_SOCKETS = 16;
/** For logins and renewals, so that these do not wait behind signatures. */
const SPARE_SOCKETS = 2;

/** A dispatcher that is closed with its signer. */
export interface OwnDispatcher extends VaultTransitDispatcherLike {
  /**
   * Says that a call of this dispatcher failed. If its connection was dead, the other idle ones are dead too (a firewall
   * that forgot them, a restart of the other side), and the next call makes a new one.
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
export async function createOwnDispatcher(tls: VaultTransitTlsOptions, plan: OpeningPlan): Promise<OwnDispatcher> {
  // A file system may hang.
  const first = hasTlsFiles(tls) ? await withinDeadline(() => readTlsFiles(tls), plan.bounds) : undefined;
  if (first !== undefined) requireUsable(first);
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
      return collectResponse(agent, options, MAX_BODY_BYTES);
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
  if (policy === false || policy.limiter !== undefined) return MAX_SOCKETS;
  return Math.max(MIN_SOCKETS, policy.concurrency ?? 0) + SPARE_SOCKETS;
}

/** How much of the time for a connection may pass until a file is read. */
const READ_SHARE = 1 / 2;

type BuildConnector = typeof buildConnector;
type Connector = buildConnector.connector;

interface ConnectorPlan {
  readonly tls: VaultTransitTlsOptions;
  /** What the files contained at first. Undefined without files. */
  readonly first: TlsMaterial | undefined;
  /** How long a connection may take. Milliseconds. */
  readonly timeout: number;
}

/**
 * Makes connections with the current content of the files, which an operator may replace. While their mount hangs, with the last
 * content: their absence would say something about them, and a hang does not.
 */
function connectorFor(build: BuildConnector, { tls, first, timeout }: ConnectorPlan): Connector {
  const options = { timeout, ...(tls.serverName !== undefined && { servername: tls.serverName }) };
  if (first === undefined) return build(options);
  let known = { content: JSON.stringify(first), connect: build({ ...options, ...first }) };
  const connectorOf = (material: TlsMaterial): Connector => {
    const content = JSON.stringify(material);
    if (known.content === content) return known.connect;
    requireUsable(material);
    known = { content, connect: build({ ...options, ...material }) };
    return known.connect;
  };
  const deadlineMs = Math.ceil(timeout * READ_SHARE);
  const current = async (): Promise<Connector> => {
    try {
      return connectorOf(await withinDeadline(() => readTlsFiles(tls), { deadlineMs }));
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
