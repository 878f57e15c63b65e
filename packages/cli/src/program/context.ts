import type { CommandContext, StricliProcess } from "@stricli/core";
import type { Output } from "../terminal/output.ts";
import type { Progress } from "../terminal/progress.ts";

/** What each command gets. */
export interface CliContext extends CommandContext, Progress {
  readonly process: StricliProcess;
  /** The result, on stdout. */
  readonly output: Output;
  /** Messages for people, on stderr. */
  readonly messages: Output;
  readonly stdin: NodeJS.ReadStream;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Aborts on Ctrl-C, on SIGTERM, and when nothing reads stdout any longer. Pass it to everything that waits. */
  readonly signal: AbortSignal;
  /** Does what Ctrl-C does. A prompt reads the key itself. */
  interrupt(): void;
  /** After the signal, the program ends within two seconds, or within this time if a command needs it. */
  allowClosing(ms: number): void;
}
