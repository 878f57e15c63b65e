import { spawn, type ChildProcess } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

// What every backend that is a separate process has in common.

/** Where tools are kept that are downloaded or built once per machine: `SIGNPOST_CACHE`, or the user's cache folder. */
export function cacheFolder(): string {
  const base = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return resolve(process.env["SIGNPOST_CACHE"] || join(base, "signpost"));
}

/** A port of the loopback interface with no listener now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(0, "127.0.0.1", listening);
  });
  const address = server.address();
  await new Promise<void>((closed) => server.close(() => closed()));
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

export interface BackendProcessOptions {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Added to this process's own. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly cwd?: string | undefined;
  /** Written immediately. The pipe stays open until `stop`, so that a child can end with its parent. */
  readonly input?: string | undefined;
}

export interface BackendProcess {
  readonly pid: number;
  /** Standard output and error so far, the last 64 KiB. */
  output(): string;
  /** The first complete line of standard output. Rejects if the process ends before. */
  firstLine(timeoutMs?: number): Promise<string>;
  /** Calls `probe` until it resolves with true. Rejects if the process ends first or the time runs out. */
  waitUntil(what: string, probe: () => Promise<boolean>, timeoutMs?: number): Promise<void>;
  /** Freezes the process from now on: the kernel accepts its connections, and nothing answers. */
  freeze(): Promise<void>;
  /** Ends `freeze`. */
  thaw(): void;
  /** Ends it: closes its input, sends `signal`, and SIGKILL after `graceMs`. Idempotent. */
  stop(options?: { readonly signal?: NodeJS.Signals; readonly graceMs?: number }): Promise<void>;
}

const OUTPUT_LIMIT = 65_536;

/** Starts a backend. It ends when this process exits, if not before. */
export function startProcess(options: BackendProcessOptions): BackendProcess {
  const child = spawn(options.command, [...(options.args ?? [])], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  let stdout = "";
  let ended: string | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (!stdout.includes("\n")) stdout += text;
    output = (output + text).slice(-OUTPUT_LIMIT);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = (output + text).slice(-OUTPUT_LIMIT);
  });
  // A child that ends early breaks the pipe; `ended` explains that better.
  child.stdin.on("error", () => undefined);
  const exited = new Promise<void>((done) => {
    child.once("error", (error) => {
      ended = error.message;
      done();
    });
    child.once("exit", (code, signal) => {
      ended = `ended with ${signal ?? code}`;
      done();
    });
  });
  const killNow = (): void => void child.kill("SIGKILL");
  process.once("exit", killNow);
  void exited.then(() => process.off("exit", killNow));
  if (options.input !== undefined) child.stdin.write(options.input);

  const waitUntil = async (what: string, probe: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> => {
    const end = performance.now() + timeoutMs;
    while (!(await probe())) {
      const reason = ended ?? (performance.now() > end ? `not within ${timeoutMs} ms` : undefined);
      if (reason !== undefined) throw new Error(`${options.command}: ${what}: ${reason}\n${output}`);
      await delay(25);
    }
  };

  return {
    pid: child.pid ?? -1,
    output: () => output,
    waitUntil,
    firstLine: async (timeoutMs) => {
      await waitUntil("first line", async () => stdout.includes("\n"), timeoutMs);
      return stdout.slice(0, stdout.indexOf("\n"));
    },
    freeze: async () => {
      child.kill("SIGSTOP");
      // The signal may still be in transit when kill returns, so an answer may still arrive.
      if (process.platform === "linux") await waitUntil("stopped", () => isStopped(child.pid ?? -1));
    },
    thaw: () => void child.kill("SIGCONT"),
    stop: (how = {}) => stop(child, exited, how),
  };
}

/** Whether every thread of the process is stopped, by Linux's process table. */
async function isStopped(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`);
  const states = await Promise.all(
    // The state follows the program's name, which is in parentheses.
    threads.map(async (thread) => {
      const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, "utf8").catch(() => "");
      return /\) (\S) /.exec(stat)?.[1];
    }),
  );
  return states.every((state) => state === "T");
}

async function stop(
  child: ChildProcess,
  exited: Promise<void>,
  { signal = "SIGTERM", graceMs = 3_000 }: { readonly signal?: NodeJS.Signals; readonly graceMs?: number },
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin?.destroy();
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await exited;
  clearTimeout(timer);
}

/**
 * Throws unless every TCP port on which the process listens is bound only to the loopback interface, and `port` is one of
 * them and not another process's listener. Reads Linux's socket table. Other systems have none, and the check does nothing
 * there.
 */
export async function assertLoopbackOnly(pid: number, port: number): Promise<void> {
  if (process.platform !== "linux") return;
  const inodes = new Set<string>();
  for (const descriptor of await readdir(`/proc/${pid}/fd`)) {
    const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  const ports: number[] = [];
  for (const table of ["tcp", "tcp6"]) {
    const lines = (await readFile(`/proc/${pid}/net/${table}`, "utf8")).trim().split("\n").slice(1);
    for (const line of lines) {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      if (state !== "0A" || !inodes.has(inode)) continue;
      if (!isLoopback(local)) throw new Error(`process ${pid} listens beyond loopback: ${local}`);
      ports.push(Number.parseInt(local.split(":")[1] ?? "", 16));
    }
  }
  if (!ports.includes(port)) throw new Error(`process ${pid} listens on ${ports.join(", ")}, not on ${port}`);
}

/** `local` is the kernel's hexadecimal `address:port`, each 32-bit word of the address in host order. */
function isLoopback(local: string): boolean {
  const [address = ""] = local.split(":");
  return (
    /^[0-9A-F]{6}7F$/.test(address) ||
    /^0{16}FFFF0000[0-9A-F]{6}7F$/.test(address) ||
    address === "00000000000000000000000001000000"
  );
}
