import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

/**
 * Sends the same HTTP/1.1 request again and again over open connections and counts the bytes of the answers, which must all
 * be as long as the first. It needs far less time than an HTTP client, so that the server is what is measured.
 */
export interface RawClient {
  /** The first answer, as text. */
  readonly answer: string;
  /** Sends this many requests. Each connection sends one after another. */
  send(requests: number): Promise<void>;
  close(): void;
}

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** After this much silence the first answer is taken as complete. Milliseconds. */
const QUIET_MS = 100;

export async function openRawClient(port: number, request: RawRequest, connections: number): Promise<RawClient> {
  const bytes = Buffer.from(
    [
      `${request.method} ${request.path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      ...Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
      "",
      "",
    ].join("\r\n"),
  );
  const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(port)));
  const [first] = sockets;
  if (first === undefined) throw new RangeError("connections: expected at least 1");
  const answer = await firstAnswer(first, bytes);
  return {
    answer,
    send: async (requests) => {
      let left = requests;
      const take = (): boolean => left-- > 0;
      await Promise.all(sockets.map((socket) => exchange(socket, bytes, Buffer.byteLength(answer), take)));
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  return socket;
}

function firstAnswer(socket: Socket, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    let timer = setTimeout(() => reject(new Error("the server did not answer")), 100 * QUIET_MS);
    const onData = (chunk: Buffer): void => {
      answer += chunk.toString("latin1");
      clearTimeout(timer);
      timer = setTimeout(() => {
        socket.off("data", onData);
        resolve(answer);
      }, QUIET_MS);
    };
    socket.on("data", onData);
    socket.write(request);
  });
}

/** Sends one request after another while any are left. */
function exchange(socket: Socket, request: Buffer, answerBytes: number, take: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let expected = 0;
    const end = (settle: () => void): void => {
      socket.off("data", onData).off("close", onClose);
      settle();
    };
    const next = (): void => {
      if (!take()) return end(resolve);
      expected = answerBytes;
      socket.write(request);
    };
    const onData = (chunk: Buffer): void => {
      expected -= chunk.length;
      if (expected === 0) next();
      else if (expected < 0) end(() => reject(new Error("an answer was longer than the first one")));
    };
    const onClose = (): void => end(() => reject(new Error("the server closed the connection")));
    socket.on("data", onData).on("close", onClose);
    next();
  });
}
