import type { ExitCode } from "./exit-codes.ts";

interface CliErrorOptions extends ErrorOptions {
  /** What to do about it. Default: nothing is printed. */
  readonly hint?: string | undefined;
}

/** Ends a command with a message for its user. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;
  /** For programs that read `--json`. */
  readonly code: string;
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, code: string, message: string, options?: CliErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
    this.code = code;
    this.hint = options?.hint;
  }
}
