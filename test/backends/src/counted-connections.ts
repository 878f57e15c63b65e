import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** The part of an adapter's dispatcher that is tested. */
interface Dispatcher {
  request(options: {
    readonly origin: string;
    readonly path: string;
    readonly method: "GET";
    readonly headers: Record<string, string>;
    readonly signal: AbortSignal;
  }): Promise<{ readonly statusCode: number }>;
  close(): Promise<void>;
}

/** A dispatcher, and a server that counts its connections. */
export interface CountedDispatcher<Made> {
  readonly dispatcher: Made;
  /** How many connections were made. */
  readonly connections: () => number;
  /** Makes a request, and returns the status of its answer. */
  ask(): Promise<number>;
  /** Answers the requests that wait, and all later ones at once. */
  release(): void;
  stop(): Promise<void>;
}

/** `answersAtOnce`: whether the server answers before `release` is called. */
export async function countConnections<Made extends Dispatcher>(
  dispatcher: Made,
  answersAtOnce: boolean = true,
): Promise<CountedDispatcher<Made>> {
  const waiting: ServerResponse[] = [];
  let connections = 0;
  let answers = answersAtOnce;
  const server = createServer((_incoming, response) => void (answers ? response.end("{}") : waiting.push(response)));
  server.on("connection", () => (connections += 1));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { signal } = new AbortController();
  return {
    dispatcher,
    connections: () => connections,
    ask: async () => {
      const { statusCode } = await dispatcher.request({ origin, path: "/", method: "GET", headers: {}, signal });
      // undici uses the connection again in a later turn.
      await pause(20);
      return statusCode;
    },
    release: () => {
      answers = true;
      for (const response of waiting.splice(0)) response.end("{}");
    },
    stop: async () => {
      await dispatcher.close();
      server.closeAllConnections();
      server.close();
    },
  };
}
