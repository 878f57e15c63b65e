import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The connections of a server. */
export interface Connections {
  /** Takes in a new connection. If there are too many, the one that has been idle for longest is closed. */
  add(socket: Socket): void;
  /**
   * Counts a request until its response is done. False if it must not be answered: its connection has sent too many without waiting
   * for their responses, and has ended.
   */
  begin(request: IncomingMessage, response: ServerResponse): boolean;
  /** Ends a connection with these bytes, after the responses that are still on their way. */
  endWith(socket: Socket, bytes: string): void;
  /** Ends those that have sent nothing yet. Node does not take them for idle, and after a close it no longer limits their time. */
  endSilent(): void;
  count(): number;
}

/** Requests of a connection at a time. More would keep other connections waiting, since one read can hold a thousand. */
const MAX_PIPELINED = 100;

/**
 * Keeps at most `max` connections. A server that refused new ones when it is full could be stopped by anyone who holds that many
 * open. Every response here is written at once, so a connection without one on its way only waits for its client.
 */
export function createConnections(max: number, onEvicted: () => void, onFlood: () => void): Connections {
  /** Each with its unfinished responses. */
  const open = new Map<Socket, { responses: number; last: string | undefined }>();
  /** Those that wait for their clients, the one that waits for longest first. */
  const idle = new Set<Socket>();

  const makeRoom = (): void => {
    if (open.size < max) return;
    const [victim] = idle.size > 0 ? idle : open.keys();
    if (victim === undefined) return;
    onEvicted();
    remove(victim);
    victim.destroy();
  };
  const remove = (socket: Socket): void => {
    open.delete(socket);
    idle.delete(socket);
  };

  return {
    add(socket) {
      makeRoom();
      open.set(socket, { responses: 0, last: undefined });
      idle.add(socket);
      socket.once("close", () => remove(socket));
    },
    begin({ socket }, response) {
      const state = open.get(socket);
      if (state === undefined || socket.destroyed) return false;
      if (state.responses === MAX_PIPELINED) {
        onFlood();
        socket.destroy();
        return false;
      }
      state.responses += 1;
      idle.delete(socket);
      response.once("close", () => {
        state.responses -= 1;
        if (state.responses > 0 || !open.has(socket)) return;
        idle.add(socket);
        if (state.last !== undefined) finish(socket, state.last);
      });
      return true;
    },
    endWith(socket, bytes) {
      const state = open.get(socket);
      if (state === undefined || state.responses === 0) return finish(socket, bytes);
      state.last = bytes;
    },
    endSilent() {
      for (const socket of idle) if (socket.bytesRead === 0) socket.destroy();
    },
    count: () => open.size,
  };
}

function finish(socket: Socket, bytes: string): void {
  if (socket.writable) socket.write(bytes);
  socket.destroySoon();
}
