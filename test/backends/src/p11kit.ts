import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { SoftHsm } from "./softhsm.ts";

const CLIENT_PATHS = [
  "/usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-client.so",
  "/usr/lib/aarch64-linux-gnu/pkcs11/p11-kit-client.so",
  "/usr/lib64/pkcs11/p11-kit-client.so",
] as const;
const START_MS = 10_000;

/** A token served over a socket, like an HSM on the network. */
export interface P11KitRemote extends AsyncDisposable {
  /** Path of the client module. */
  readonly module: string;
  /** Kills the server and everything that it serves, in the middle of any work. */
  kill(): Promise<void>;
  /** Starts it again, at the same address. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Serves one token of SoftHSM (or of a module in front of it) by `p11-kit server`, on a socket in the token's private folder, and points the
 * calling process at it by `P11_KIT_SERVER_ADDRESS`.
 */
export async function startP11Kit(hsm: SoftHsm, module: string = hsm.module): Promise<P11KitRemote> {
  const client = CLIENT_PATHS.find((path) => existsSync(path));
  if (client === undefined) throw new Error(`p11-kit's client module is in none of ${CLIENT_PATHS.join(", ")}`);
  const socket = join(hsm.directory, "p11-kit.socket");
  let server = await serve(hsm, module, socket);
  const before = process.env["P11_KIT_SERVER_ADDRESS"];
  process.env["P11_KIT_SERVER_ADDRESS"] = `unix:path=${socket}`;

  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) return;
    // In a separate process group: the server has a process for each connection, and those would live on.
    process.kill(-server.pid, "SIGKILL");
    await once(server, "exit");
  };
  const stop = async (): Promise<void> => {
    await kill();
    if (before === undefined) delete process.env["P11_KIT_SERVER_ADDRESS"];
    else process.env["P11_KIT_SERVER_ADDRESS"] = before;
  };
  return {
    module: client,
    kill,
    restart: async () => {
      await kill();
      server = await serve(hsm, module, socket);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function serve(hsm: SoftHsm, module: string, socket: string): Promise<ChildProcess> {
  await rm(socket, { force: true });
  const args = ["server", "-f", "-n", socket, "-p", module, `pkcs11:token=${hsm.tokenLabel}`];
  const server = spawn("p11-kit", args, { env: hsm.env, stdio: ["ignore", "ignore", "inherit"], detached: true });
  const end = performance.now() + START_MS;
  while (!existsSync(socket)) {
    if (server.exitCode !== null || performance.now() > end) throw new Error("p11-kit server did not start");
    await pause(20);
  }
  return server;
}
