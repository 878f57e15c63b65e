import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** The built program. */
export const BIN: string = fileURLToPath(new URL("../../dist/bin.js", import.meta.url));

export interface CliOptions {
  readonly cwd?: string;
  /** Added to an environment without the variables that change what the program prints. */
  readonly env?: NodeJS.ProcessEnv;
  readonly stdin?: string;
}

export interface CliResult {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the built program, as a shell does. */
export function startCli(args: readonly string[], { cwd, env }: CliOptions = {}): ChildProcessWithoutNullStreams {
  const { NO_COLOR: _none, FORCE_COLOR: _forced, ...inherited } = process.env;
  // The notice of the AWS SDK about Node 20 is not ours.
  const quiet = { ...inherited, NODE_NO_WARNINGS: "1", ...env };
  return spawn(process.execPath, [BIN, ...args], { cwd, env: quiet });
}

/** Runs the built program to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const child = startCli(args, options);
  child.stdin.on("error", () => undefined).end(options.stdin ?? "");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), ended(child)]);
  return { code: child.exitCode, stdout, stderr };
}

/** Resolves when the program has ended. */
export async function ended(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "close");
}
