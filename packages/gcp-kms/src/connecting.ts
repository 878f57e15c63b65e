import { subscribe } from "node:diagnostics_channel";
import { ClientRequest } from "node:http";
import { Socket } from "node:net";
import { createBriefContext, memberOf } from "@signpost/core/adapter";

/** What was begun and may stay open without an answer. */
export interface Begun {
  readonly pending: Set<ClientRequest | Socket>;
  /** Whether it was dropped, so that what follows is dropped too. */
  dropped: boolean;
}

/** Connections that a client over gRPC has begun to make. */
export interface Connecting {
  /** Makes a call, which may begin a connection. `isConnected`: whether the client has one now. */
  run<Answer>(make: () => Promise<Answer>, isConnected: () => boolean): Promise<Answer>;
  /** The service has answered: its connection is made, and the client closes it. */
  made(): void;
  /** The next call may begin another connection. */
  failed(): void;
  /** Ends those that are not made, also those that are only just beginning. */
  end(): void;
}

/** Tells the connections of a client from the others in this process. */
const beginnings = createBriefContext<Begun>();
let watching = false;

/**
 * Watches the connections of a client until the service has answered. grpc-js never ends one that the other side accepts without
 * going on with TLS, or one to a proxy that stays silent, not even when the client is closed. It would stay open, and keep the
 * process alive, for as long as the other side does.
 */
export function createConnecting(): Connecting {
  const own: Begun = { pending: new Set(), dropped: false };
  let isMade = false;
  let letGo: (() => void) | undefined;
  const stop = (): void => {
    letGo?.();
    letGo = undefined;
  };
  return {
    run: (make, isConnected) => {
      if ((isMade && isConnected()) || own.dropped) return make();
      watch();
      // grpc-js goes on connecting after the call.
      letGo ??= beginnings.hold();
      return beginnings.run(own, make);
    },
    made: () => {
      isMade = true;
      own.pending.clear();
      stop();
    },
    failed: () => {
      isMade = false;
    },
    end: () => {
      stop();
      drop(own);
    },
  };
}

function watch(): void {
  if (watching) return;
  watching = true;
  const keepNew = (begun: unknown): void => {
    const own = beginnings.get();
    if (own !== undefined) keepSocket(own, begun);
    // To a proxy. Other requests are for tokens.
    if (own !== undefined && begun instanceof ClientRequest && begun.method === "CONNECT") keep(own, begun);
  };
  subscribe("net.client.socket", (message) => keepNew(memberOf(message, "socket")));
  subscribe("http.client.request.start", (message) => keepNew(memberOf(message, "request")));
}

/** Keeps a socket, unless it is that of an agent of HTTP, which ends with its request or serves other ones. */
export function keepSocket(own: Begun, socket: unknown): void {
  if (!(socket instanceof Socket)) return;
  // The agent adds its listeners after the start of the socket.
  process.nextTick(() => {
    if (socket.listenerCount("agentRemove") === 0 && !socket.destroyed) keep(own, socket);
  });
}

/** Keeps what was begun until it closes. */
export function keep({ pending, dropped }: Begun, begun: ClientRequest | Socket): void {
  // Not here, in the middle of its start.
  if (dropped) setImmediate(() => begun.destroy());
  pending.add(begun);
  begun.once("close", () => pending.delete(begun));
}

/** Ends what was begun, and what follows. */
export function drop(own: Begun): void {
  own.dropped = true;
  for (const begun of own.pending) begun.destroy();
}
