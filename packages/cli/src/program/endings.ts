import { EXIT, INTERRUPTED } from "./exit-codes.ts";

/** What can end a command from outside. */
export interface Endings {
  readonly signal: AbortSignal;
  /** As Ctrl-C does. */
  interrupt(): void;
  /** Gives the command more time to close than the usual two seconds. */
  allowClosing(ms: number): void;
  /** The exit code after an ending, or undefined if there was none. */
  exitCode(): number | undefined;
}

/** A command has this long to close its keys, unless it asks for more. Then the program ends anyway. */
const CLOSING_MS = 2000;
const TERMINATED = 143;

/** What a reader of stdout that went away is called. */
const NO_READER = "EPIPE";

/**
 * Aborts the signal on Ctrl-C, on SIGTERM, when stdout cannot be written, such as on a full disk, and when its reader went away,
 * which is no failure. A second Ctrl-C ends the program at once.
 */
export function watchEndings(): Endings {
  const controller = new AbortController();
  let code: number | undefined;
  let closingMs = CLOSING_MS;
  const end = (exitCode: number, signal?: NodeJS.Signals): void => {
    if (code !== undefined) leave(exitCode, signal);
    code = exitCode;
    controller.abort();
    setTimeout(() => leave(exitCode, signal), closingMs).unref();
  };
  const interrupt = (): void => end(INTERRUPTED, "SIGINT");
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", () => end(TERMINATED, "SIGTERM"));
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (code !== undefined) return;
    if (error.code === NO_READER) return end(0);
    process.stderr.write(`error stdout: cannot be written (${error.code})\n`);
    // The command may have ended before.
    process.exitCode = EXIT.usage;
    end(EXIT.usage);
  });
  // Without a reader for messages the work goes on.
  process.stderr.on("error", () => undefined);
  const allowClosing = (ms: number): void => {
    closingMs = ms;
  };
  return { signal: controller.signal, interrupt, allowClosing, exitCode: () => code };
}

/** Ends the program at once. `process.exit` would wait for a file that hangs, such as a FIFO. */
function leave(exitCode: number, signal: NodeJS.Signals | undefined): void {
  if (signal === undefined) process.exit(exitCode);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
