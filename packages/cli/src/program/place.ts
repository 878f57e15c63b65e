import { SignpostError } from "@signpost/core";
import { CliError } from "./cli-error.ts";
import { failureOf } from "./failure.ts";

/** Runs some work. An error that users can act on gets the place before its message: a file, or a path in it. */
export async function at<T>(place: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof SignpostError) && !(cause instanceof CliError)) throw cause;
    const { exitCode, code, message, hint } = failureOf(cause);
    throw new CliError(exitCode, code, `${place}${message}`, { cause, hint });
  }
}
