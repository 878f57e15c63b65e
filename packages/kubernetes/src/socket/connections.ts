import type { Socket } from "node:net";

/** The connections that are open. */
export interface Connections {
  readonly accept: (socket: Socket) => void;
  /** Ends those that are left. */
  destroy(): void;
}

/** gRPC knows a connection by its session. One that sends no session, or breaks it, is known here. */
export function createConnections(use: (socket: Socket) => void): Connections {
  const open = new Set<Socket>();
  return {
    accept(socket) {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      use(socket);
    },
    destroy() {
      for (const socket of open) socket.destroy();
    },
  };
}
