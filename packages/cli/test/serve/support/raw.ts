import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A socket to a server, with what it has sent back. */
export interface RawSocket {
  readonly socket: Socket;
  /** All bytes so far, as text. */
  received(): string;
  /** Resolves when this text came. Rejects if the connection ends before. */
  until(text: string): Promise<string>;
  /** Resolves to everything when the server has ended the connection. */
  closed(): Promise<string>;
}

/** Opens a connection to the host and port of a URL, and sends bytes. */
export async function openRaw(
  url: string,
  bytes = "",
  options: { readonly allowHalfOpen?: boolean } = {},
): Promise<RawSocket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  let text = "";
  let isClosed = false;
  const looks = new Set<() => void>();
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    for (const look of looks) look();
  });
  // A server that closes with unread bytes resets the connection.
  socket.on("error", () => undefined);
  socket.on("close", () => {
    isClosed = true;
    for (const look of looks) look();
  });
  await once(socket, "connect");
  if (bytes !== "") socket.write(bytes);
  const when = (isDone: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!isDone() && !isClosed) return;
        looks.delete(look);
        if (isDone()) resolve(text);
        else reject(new Error(`the connection ended after ${JSON.stringify(text)}`));
      };
      looks.add(look);
      look();
    });
  return {
    socket,
    received: () => text,
    until: (wanted) => when(() => text.includes(wanted)),
    closed: () => when(() => isClosed),
  };
}

/** The status codes of the responses in a stream. */
export function statuses(text: string): readonly number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** A GET as the simplest client sends it. */
export function get(url: string, ...headers: readonly string[]): string {
  const { pathname, host } = new URL(url);
  return [`GET ${pathname} HTTP/1.1`, `Host: ${host}`, ...headers, "", ""].join("\r\n");
}
