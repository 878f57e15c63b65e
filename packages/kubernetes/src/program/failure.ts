import { ConfigurationError, SignerError, SignpostError } from "@signpost/core";

/** Why something failed, for the log and for the exit code. */
export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
}

/** The configuration or the command line is wrong. */
export const USAGE = 2;
/** A key or a backend did not do its part. */
export const BACKEND = 3;

/** The message of an error of ours says what to do. Any other may contain anything. */
export function failureOf(error: unknown): Failure {
  if (error instanceof SignpostError) {
    const exitCode = error instanceof ConfigurationError ? USAGE : BACKEND;
    const uri = error instanceof SignerError && error.uri !== undefined ? ` (${error.uri})` : "";
    return { exitCode, code: error.code, message: `${error.message}${uri}` };
  }
  const name = error instanceof Error ? error.name : typeof error;
  return { exitCode: BACKEND, code: "internal", message: `unexpected ${name}` };
}
