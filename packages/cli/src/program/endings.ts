import { INTERRUPTED } from "./exit-codes.ts";

/** What can end a command from outside. */
export interface Endings {
  readonly signal: AbortSignal;
  /** As Ctrl-C does. */
  interrupt(): void;
  /** The exit code after an ending, or undefined if there was none. */
  exitCode(): number | undefined;
}

/** A command has this long to close its keys. Then the program ends anyway. */
const CLOSING_MS = 2000;
const TERMINATED = 143;

/**
 * Aborts the signal on Ctrl-C, on SIGTERM, and when the reader of stdout went away, which is no failure. A second Ctrl-C ends
 * the program at once.
 */
export function watchEndings(): Endings {
  const controller = new AbortController();
  let code: number | undefined;
  const end = (exitCode: number): void => {
    if (code !== undefined) process.exit(exitCode);
    code = exitCode;
    controller.abort();
    setTimeout(() => process.exit(exitCode), CLOSING_MS).unref();
  };
  const interrupt = (): void => end(INTERRUPTED);
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", () => end(TERMINATED));
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    if (code === undefined) end(0);
  });
  // Without a reader for messages the work goes on.
  process.stderr.on("error", () => undefined);
  return { signal: controller.signal, interrupt, exitCode: () => code };
}
