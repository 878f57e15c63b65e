import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type LogReader, readLog } from "./run-signer.ts";

/** A parent that keeps a listening socket while its child comes and goes. */
export interface KeptSocket extends AsyncDisposable {
  /** The log of all children. */
  readonly log: LogReader;
  /** Starts a child with the socket, and returns its process id. */
  start(): Promise<number>;
}

export function keepSocket(path: string, command: readonly string[]): KeptSocket {
  const script = fileURLToPath(new URL("keep-socket.pl", import.meta.url));
  const parent = spawn("perl", [script, path, ...command], { stdio: ["pipe", "pipe", "pipe"] });
  const children: number[] = [];
  const killAll = (): void => {
    for (const pid of children.splice(0)) kill(pid);
    parent.kill("SIGKILL");
  };
  process.once("exit", killAll);
  const pids = createInterface(parent.stdout)[Symbol.asyncIterator]();
  return {
    log: readLog(parent.stderr),
    start: async () => {
      parent.stdin.write("\n");
      const { value } = await pids.next();
      const pid = Number(value);
      children.push(pid);
      return pid;
    },
    [Symbol.asyncDispose]: async () => {
      process.off("exit", killAll);
      killAll();
      await once(parent, "close");
    },
  };
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
