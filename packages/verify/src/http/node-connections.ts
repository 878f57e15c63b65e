import type { Agent, AgentOptions, ClientRequest } from "node:http";
import type { Socket } from "node:net";
import { attemptTimeoutMs } from "./attempt-timeout.ts";

/** How long a connection may be idle. Servers and firewalls close or forget one sooner or later. */
const IDLE_MS = 4000;

/** Idle connections to one host. The requests for a discovery document and for its key set may follow each other. */
const MAX_IDLE_CONNECTIONS = 4;

/** The connections of one scheme. */
export interface NodeConnections {
  /** Keeps connections for the next requests. */
  readonly kept: Agent;
  /** Opens a connection for each request, and closes it after the answer. */
  readonly single: Agent;
}

// All sets without connections of the caller share them, as they share those of undici. They are made with the first request,
// because TLS takes as long to load as the rest of this package.
let plain: NodeConnections | undefined;
let secure: NodeConnections | undefined;

/** The connections for a URL. */
export function nodeConnections({ protocol }: URL): NodeConnections {
  if (protocol === "http:") return (plain ??= connectionsOf(process.getBuiltinModule("node:http").Agent));
  return (secure ??= connectionsOf(process.getBuiltinModule("node:https").Agent));
}

/** Closes the idle connections when one of them was found dead or may be. What killed it may have killed the others. */
export function dropIdle({ kept }: NodeConnections): void {
  for (const socket of Object.values(kept.freeSockets).flat()) socket?.destroy();
}

/** Call it for each request over a kept connection. */
export function useIdle(request: ClientRequest): void {
  request.on("socket", (socket) => socket.removeListener("data", closeOutOfStep));
}

function connectionsOf(SchemeAgent: new (options: AgentOptions) => Agent): NodeConnections {
  const connecting = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: attemptTimeoutMs() };
  const keeping = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE_CONNECTIONS };
  // The most recent connection is used first, so that the others time out.
  const kept = new SchemeAgent({ ...connecting, ...keeping, scheduling: "lifo" });
  kept.on("free", (socket: Socket) => {
    const isIdle = Object.values(kept.freeSockets).some((sockets) => sockets?.includes(socket));
    if (isIdle) socket.on("data", closeOutOfStep);
  });
  return { kept, single: new SchemeAgent({ ...connecting, keepAlive: false }) };
}

/** An answer to no request. On this connection, the next answer could be taken for that of another request. */
function closeOutOfStep(this: Socket): void {
  this.destroy();
}
