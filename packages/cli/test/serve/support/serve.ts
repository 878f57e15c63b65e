import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import { ended, startCli, type CliOptions } from "../../support/run-cli.ts";

export interface LogLine {
  readonly time: string;
  readonly level: string;
  readonly event: string;
  readonly message: string;
  readonly [detail: string]: unknown;
}

/** `signpost serve --json` on free ports, as a process. */
export interface Served extends AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly keySet: string;
  readonly discovery: string;
  readonly admin: string;
  readonly pid: number;
  readonly lines: readonly LogLine[];
  /** The next line of this event that was not awaited before, earlier lines included. */
  logged(event: string): Promise<LogLine>;
  /** Asks for a path of the admin port. */
  ask(path: string): Promise<{ readonly status: number; readonly text: string }>;
  /** The value of a sample: its whole name with labels. */
  metric(name: string): Promise<number | undefined>;
  /** Sends a signal, and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export async function startServe(args: readonly string[], options: CliOptions): Promise<Served> {
  const child = startCli(["serve", "--port", "0", "--admin-port", "0", "--json", ...args], options);
  const log = readLog(child);
  const first = new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    child.once("close", () => reject(new Error(`serve ended: ${log.text()}`)));
  });
  const addresses = JSON.parse(await first) as Pick<Served, "keySet" | "discovery" | "admin" | "pid">;
  const ask = async (path: string): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await fetch(addresses.admin + path);
    return { status: response.status, text: await response.text() };
  };
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    child.kill(signal);
    await ended(child);
    return child.exitCode;
  };
  return {
    ...addresses,
    child,
    lines: log.lines,
    logged: log.logged,
    ask,
    metric: async (name) => {
      const line = (await ask("/metrics")).text.split("\n").find((each) => each.startsWith(`${name} `));
      return line === undefined ? undefined : Number(line.slice(name.length + 1));
    },
    stop,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended(child);
    },
  };
}

/** Starts it, and waits until its keys are there. */
export async function startReady(args: readonly string[], options: CliOptions): Promise<Served> {
  const served = await startServe(args, options);
  await served.logged("keys");
  return served;
}

/**
 * Starts it with a configuration in which something changes soon. If the machine was so slow that the change was before the start,
 * it starts again, with more time.
 */
export async function startBefore(
  write: (changes: Date) => Promise<void>,
  args: readonly string[],
  options: CliOptions,
): Promise<Served & { readonly changes: Date }> {
  for (const leadMs of [3000, 10_000, 30_000]) {
    const changes = new Date(Date.now() + leadMs);
    await write(changes);
    const served = await startReady(args, options);
    if (served.lines.every(({ nextChange = null }) => nextChange === null || nextChange === changes.toISOString())) {
      return { ...served, changes };
    }
    await served[Symbol.asyncDispose]();
  }
  throw new Error("serve takes half a minute to start");
}

function readLog(child: ChildProcessWithoutNullStreams): {
  lines: LogLine[];
  text: () => string;
  logged: Served["logged"];
} {
  const lines: LogLine[] = [];
  const awaited = new Set<LogLine>();
  const waiting: {
    readonly event: string;
    readonly found: (line: LogLine) => void;
    readonly lost: (error: Error) => void;
  }[] = [];
  let text = "";
  createInterface(child.stderr).on("line", (raw) => {
    text += `${raw}\n`;
    if (!raw.startsWith("{")) return;
    const line = JSON.parse(raw) as LogLine;
    lines.push(line);
    const index = waiting.findIndex(({ event }) => event === line.event);
    if (index === -1) return;
    awaited.add(line);
    waiting.splice(index, 1)[0]?.found(line);
  });
  child.once("close", () => {
    for (const { event, lost } of waiting) lost(new Error(`serve ended without ${event}: ${text}`));
  });
  const logged = (event: string): Promise<LogLine> => {
    const earlier = lines.find((line) => line.event === event && !awaited.has(line));
    if (earlier === undefined) return new Promise((found, lost) => waiting.push({ event, found, lost }));
    awaited.add(earlier);
    return Promise.resolve(earlier);
  };
  return { lines, text: () => text, logged };
}
