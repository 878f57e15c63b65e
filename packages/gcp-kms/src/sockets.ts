import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { elapsedMs, isOutOfTime, memberOf, onAbort, readInstant } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "./api.ts";
import { networkCode } from "./client-error.ts";
import type { Connection } from "./connection.ts";
import { NO_REDIRECT } from "./redirects.ts";

/** How long a connection may be idle. Firewalls and load balancers forget one after 60 s or more. */
const IDLE_MS = 20_000;

/** The connections of one signer over REST. */
export interface Sockets {
  /** Chooses the agent for a request, in the form that the SDK's fetch takes. */
  readonly agent: (url: { readonly protocol: string }) => HttpAgent;
  /** How long a connection may be idle. Milliseconds. */
  readonly idleMs: number;
  /** Closes the idle ones. */
  dropIdle(): void;
  /** Closes all of them, even during calls. */
  close(): void;
}

/** Makes agents that keep connections alive, and close them before the other side forgets them. */
export function createSockets(idleMs: number = IDLE_MS): Sockets {
  // Uses the most recent connection first, so that the others time out.
  const options = { keepAlive: true, timeout: idleMs, scheduling: "lifo" } as const;
  const http = new HttpAgent(options);
  const https = new HttpsAgent(options);
  return {
    agent: ({ protocol }) => (protocol === "http:" ? http : https),
    idleMs,
    dropIdle: () => {
      for (const { freeSockets } of [http, https]) {
        for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
      }
    },
    close: () => {
      http.destroy();
      https.destroy();
    },
  };
}

/** Those whose requests already use the sockets of their signer. One client may take over the credentials of another. */
const withSockets = new WeakSet<object>();

/**
 * Makes a client over REST use these connections, and follow no redirect. By default google-gax shares one pool in the process,
 * in which connections that died stay until a call has found each of them. Requests for credentials have other connections.
 */
export function useSockets({ auth }: GcpKmsClientLike, { agent }: Sockets): void {
  const fetch = memberOf(auth, "fetch");
  if (auth === undefined || typeof fetch !== "function" || withSockets.has(auth)) return;
  withSockets.add(auth);
  Reflect.set(auth, "fetch", (url: unknown, init: object): unknown =>
    fetch.call(auth, url, { ...init, agent, ...NO_REDIRECT }),
  );
}

/**
 * Closes every idle connection after one was found dead. The cause (a firewall that forgot it, a frozen process, a
 * restart of the other side) killed the others too, and each of them would cost one more attempt.
 */
export function withLiveSockets(connection: Connection, sockets: Pick<Sockets, "idleMs" | "dropIdle">): Connection {
  let usedAt = readInstant();
  return {
    call: async (bounds, subject, call) => {
      // In a frozen process, no timer has closed them.
      if (elapsedMs(usedAt) >= sockets.idleMs) sockets.dropIdle();
      // The next attempt begins long before the client has ended this one.
      const letGo = onAbort(bounds.signal, () => {
        if (isOutOfTime(bounds.signal)) sockets.dropIdle();
      });
      try {
        return await connection.call(bounds, subject, call);
      } catch (error) {
        if (isConnectionLoss(error)) sockets.dropIdle();
        throw error;
      } finally {
        letGo();
        if (!bounds.signal.aborted) usedAt = readInstant();
      }
    },
    trouble: () => connection.trouble(),
    close: () => connection.close(),
  };
}

/** Whether the connection was cut, or credentials did not arrive in time, perhaps for the same reason. */
function isConnectionLoss(error: unknown): boolean {
  return networkCode(error) !== undefined || memberOf(error, "code") === "timeout";
}
