import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertLoopbackOnly, freePort, startProcess } from "./process.ts";

export interface Redis extends AsyncDisposable {
  /** `redis://127.0.0.1:port` */
  readonly url: string;
  readonly port: number;
  /** Stops the process and keeps the port, as a crash would. */
  stopServer(): Promise<void>;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** Debian's redis-server, without persistence, on a free loopback port. */
export async function startRedis(): Promise<Redis> {
  const directory = await mkdtemp(join(tmpdir(), "signpost-redis-"));
  const port = await freePort();
  const server = startProcess({
    command: "redis-server",
    args: ["--bind", "127.0.0.1", "--port", String(port), "--save", "", "--appendonly", "no", "--dir", directory],
  });
  await server.waitUntil("answers PING", () => answersPing(port), 20_000);
  await assertLoopbackOnly(server.pid, port);
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return { url: `redis://127.0.0.1:${port}`, port, stopServer: () => server.stop(), stop, [Symbol.asyncDispose]: stop };
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    const done = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(1000, () => done(false));
    socket.once("error", () => done(false));
    socket.once("data", (data) => done(data.toString().startsWith("+PONG")));
  });
}
