import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** Bytes to send, or what happens to the connection. */
export type Step = string | Uint8Array | Ending;

/** How a connection is closed: as usual, or with a reset. */
export interface Ending {
  readonly how: "end" | "reset";
}

export const END: Ending = { how: "end" };
export const RESET: Ending = { how: "reset" };

export interface RawServer {
  readonly port: number;
  /** The start line and headers of each request, in the order of arrival. */
  readonly requests: readonly string[];
  /** Every connection so far. */
  readonly connections: readonly Socket[];
}

/** A server that answers each request with these bytes. `connection` counts from 0, as `request` does on each connection. */
export type RawAnswer = (at: { readonly connection: number; readonly request: number }) => readonly Step[];

/** Listens on a free loopback port until the test ends. */
export async function rawServer(answer: RawAnswer, host: string = "127.0.0.1"): Promise<RawServer> {
  const requests: string[] = [];
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    const connection = connections.push(socket) - 1;
    let request = 0;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      requests.push(bytes.toString("latin1"));
      void play(socket, answer({ connection, request: request++ }));
    });
  });
  await once(server.listen(0, host), "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of connections) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, requests, connections };
}

/** Each step is a packet, so that the client reads it alone. */
async function play(socket: Socket, steps: readonly Step[]): Promise<void> {
  for (const [index, step] of steps.entries()) {
    if (index > 0) await pause(5);
    if (typeof step === "object" && "how" in step) close(socket, step);
    else if (step.length > 0) socket.write(step);
  }
}

export function close(socket: Socket | undefined, { how }: Ending): void {
  if (how === "end") socket?.end();
  else socket?.resetAndDestroy();
}

/** A whole answer with JSON. */
export function jsonAnswer(body: string | Uint8Array, headers: string = ""): Buffer {
  return wholeAnswer("200 OK", body, `content-type: application/json\r\n${headers}`);
}

/** A whole answer, whose headers end with line breaks. */
export function wholeAnswer(status: string, body: string | Uint8Array = "", headers: string = ""): Buffer {
  const bytes = Buffer.from(body);
  const head = `HTTP/1.1 ${status}\r\n${headers}content-length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}
