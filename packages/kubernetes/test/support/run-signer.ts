import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

/** The program as it is published. */
export const BIN: string = fileURLToPath(new URL("../../dist/bin.js", import.meta.url));

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly message: string;
  readonly [detail: string]: unknown;
}

/** Lines of a log, as they come. */
export interface LogReader {
  readonly lines: readonly LogLine[];
  /** The next line of this event that was not awaited before, earlier lines included. Rejects when the log ends. */
  next(event: string): Promise<LogLine>;
}

/** `signpost-kubernetes`, as a process. */
export interface RunningSigner extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly log: LogReader;
  /** What it wrote to stdout. */
  stdout(): string;
  /** Sends a signal, and resolves to the exit code, or to null if the signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Resolves to the exit code. */
  ended(): Promise<number | null>;
}

export function startSigner(config: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): RunningSigner {
  const child = spawn(process.execPath, [BIN, "--config", config, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const killNow = (): void => void child.kill("SIGKILL");
  process.once("exit", killNow);
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  const closed = once(child, "close").then(() => process.off("exit", killNow));
  const ended = async (): Promise<number | null> => {
    await closed;
    return child.exitCode;
  };
  return {
    child,
    log: readLog(child.stderr),
    stdout: () => stdout,
    ended,
    stop: (signal = "SIGTERM") => {
      child.kill(signal);
      return ended();
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended();
    },
  };
}

/** Starts it, and waits until kube-apiserver can connect. */
export async function startReady(
  config: string,
  env: NodeJS.ProcessEnv = {},
): Promise<RunningSigner & { readonly ready: LogLine }> {
  const signer = startSigner(config, [], env);
  return { ...signer, ready: await signer.log.next("ready") };
}

export function readLog(stream: Readable): LogReader {
  const lines: LogLine[] = [];
  const other: string[] = [];
  const seen = new Set<LogLine>();
  const waiting = new Set<() => void>();
  let isOver = false;
  const wake = (): void => {
    for (const check of waiting) check();
  };
  const reader = createInterface(stream);
  reader.on("line", (line) => {
    if (line.startsWith("{")) lines.push(JSON.parse(line) as LogLine);
    else other.push(line);
    wake();
  });
  reader.once("close", () => {
    isOver = true;
    wake();
  });
  return {
    lines,
    next: (event) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const line = lines.find((each) => each.event === event && !seen.has(each));
          if (line === undefined && !isOver) return;
          waiting.delete(check);
          if (line === undefined) return reject(new Error(`no ${event} in ${JSON.stringify([...lines, ...other])}`));
          seen.add(line);
          resolve(line);
        };
        waiting.add(check);
        check();
      }),
  };
}
