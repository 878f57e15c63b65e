import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";

export interface LoopbackServer {
  readonly port: number;
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  /** Ends every connection, and goes on listening. */
  endConnections(): void;
  close(): Promise<void>;
}

/** A server on a free loopback port. */
export async function startLoopbackServer(listener: RequestListener): Promise<LoopbackServer> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    port: address.port,
    origin: `http://127.0.0.1:${address.port}`,
    endConnections: () => server.closeAllConnections(),
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
