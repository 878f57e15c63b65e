import type { Server } from "node:net";

/** A server that accepts connections. */
export interface Listening {
  readonly server: Server;
  /** The path, or `fd:3` if it has none. */
  readonly address: string;
  /** What is left to do after the server is closed. */
  release(): Promise<void>;
}
