import { readFile, rename } from "node:fs/promises";
import { createServer } from "node:net";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

export interface KeptSocketOptions {
  /** Where it listens. The folder must exist. */
  readonly path: string;
  /** `LISTEN_FDNAMES`. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** A program that inherits its listening socket, and is started again each time it ends. */
export interface KeptSocket extends AsyncDisposable {
  /** Sends a signal to the program that runs now. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Ends the program with a signal. Resolves when the next one runs. */
  restart(signal: NodeJS.Signals): Promise<void>;
  /** Ends the program, and starts no other until `comeBack`. Connections wait at the socket. */
  goAway(signal: NodeJS.Signals): Promise<void>;
  comeBack(): void;
  /** Standard output and error so far. */
  output(): string;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** Names the process for which the sockets are meant, which is known only after the fork, and becomes the program. */
const START = `LISTEN_PID=$$ exec "$0" "$@"`;
/** As `Restart=always` does. */
const SUPERVISE = `while :; do sh -c '${START}' "$0" "$@"; sleep 0.1; done`;

/**
 * What a `.socket` unit of systemd and its `.service` do: a process that outlives the program holds the listening socket, and
 * passes it on as descriptor 3.
 */
export async function startKeptSocket({ path, name, command, env }: KeptSocketOptions): Promise<KeptSocket> {
  const server = createServer();
  // Closing a server of Node removes its path, so it listens under another one.
  server.listen(`${path}.new`);
  await once(server, "listening");
  await rename(`${path}.new`, path);
  const supervisor = spawn("sh", ["-c", SUPERVISE, ...command], {
    stdio: ["ignore", "pipe", "pipe", descriptorOf(server)],
    env: { ...process.env, ...env, LISTEN_FDS: "1", LISTEN_FDNAMES: name },
  });
  server.close();
  let output = "";
  for (const stream of [supervisor.stdout, supervisor.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-65_536)));
  }
  const childPids = async (): Promise<readonly number[]> => {
    const path = `/proc/${supervisor.pid}/task/${supervisor.pid}/children`;
    return (await readFile(path, "utf8").catch(() => "")).trim().split(" ").filter(Boolean).map(Number);
  };
  const pid = async (): Promise<number | undefined> => {
    for (const child of await childPids()) {
      const program = await readFile(`/proc/${child}/cmdline`, "utf8").catch(() => "");
      if (program.startsWith(`${command[0]}\0`)) return child;
    }
    return undefined;
  };
  const end = (): void => void supervisor.kill("SIGKILL");
  process.once("exit", end);
  const stop = async (): Promise<void> => {
    process.off("exit", end);
    if (supervisor.exitCode !== null || supervisor.signalCode !== null) return;
    const children = await childPids();
    supervisor.kill("SIGKILL");
    await once(supervisor, "exit");
    for (const child of children) kill(child, "SIGKILL");
  };
  const running = async (): Promise<number> => {
    for (;;) {
      const now = await pid();
      if (now !== undefined) return now;
      await delay(20);
    }
  };
  const endOf = async (program: number): Promise<void> => {
    while ((await pid()) === program) await delay(20);
  };
  return {
    output: () => output,
    signal: async (signal) => kill(await running(), signal),
    restart: async (signal) => {
      const before = await running();
      kill(before, signal);
      await endOf(before);
      await running();
    },
    goAway: async (signal) => {
      const before = await running();
      supervisor.kill("SIGSTOP");
      kill(before, signal);
      await endOf(before);
    },
    comeBack: () => void supervisor.kill("SIGCONT"),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Node has no public way to pass a listening socket on without accepting its connections first. */
function descriptorOf(server: object): number {
  const { _handle: handle } = server as { readonly _handle?: { readonly fd?: number } };
  if (handle?.fd === undefined) throw new Error("the server has no descriptor");
  return handle.fd;
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
