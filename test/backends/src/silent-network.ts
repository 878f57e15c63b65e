import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A network between a client and a server that can silently drop connections. */
export interface SilentNetwork extends AsyncDisposable {
  readonly port: number;
  /** Connections made through it. */
  readonly connections: number;
  /** Connections through it that are open now. */
  readonly open: number;
  /** Lost connections on which the client sent something afterwards. */
  readonly usedLost: number;
  /** From now on nothing passes on the open connections. New ones work. */
  loseOpenOnes(): void;
  /** From now on nothing passes on new connections either, although they are accepted, until `false`. */
  loseNewOnes(on: boolean): void;
}

/** Forwards TCP to a port of this machine. */
export async function startSilentNetwork(target: number): Promise<SilentNetwork> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let connections = 0;
  let losesNew = false;
  const usedLost = new Set<Socket>();
  const lost = new WeakSet<Socket>();
  const lose = ([near, far]: readonly [Socket, Socket]): void => {
    for (const socket of [near, far]) socket.unpipe().removeAllListeners("end").pause();
    if (near.listenerCount("data") === 0) near.on("data", () => usedLost.add(near));
    lost.add(near).add(far);
    // The client has closed it. The server never hears of that, and here it must not stay open.
    for (const event of ["end", "close"]) near.once(event, () => [near, far].map((socket) => socket.destroy()));
    near.resume();
  };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    connections += 1;
    const pair = [near, connect({ port: target, host: "127.0.0.1", allowHalfOpen: true })] as const;
    const [, far] = pair;
    pairs.add(pair);
    near.pipe(far).pipe(near);
    for (const socket of pair) {
      // Otherwise a small write may wait 40 ms for the one before.
      socket.setNoDelay(true);
      // A connection that was reset or refused is reset on the other side too.
      socket.on("error", () => {
        if (!lost.has(socket)) for (const other of pair) other.resetAndDestroy();
      });
      socket.on("close", () => pairs.delete(pair));
    }
    if (losesNew) lose(pair);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    get open() {
      return pairs.size;
    },
    get usedLost() {
      return usedLost.size;
    },
    loseOpenOnes: () => pairs.forEach(lose),
    loseNewOnes: (on) => {
      losesNew = on;
    },
    [Symbol.asyncDispose]: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      server.close();
    },
  };
}
