import { ConfigurationError, EncodingError, SignerError, SignpostError } from "@signpost/core";
import { CliError } from "./cli-error.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { screened } from "./screened.ts";

/** How a command ended that could not do its work. */
export interface Failure {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly message: string;
  readonly hint: string | undefined;
}

/** What a thrown error means to the user. The messages of Signpost's own errors contain no secrets but what stands in place of a name. */
export function failureOf(error: unknown): Failure {
  const failure = unscreened(error);
  return { ...failure, message: screened(failure.message) };
}

function unscreened(error: unknown): Failure {
  if (error instanceof CliError) {
    const { exitCode, code, message, hint } = error;
    return { exitCode, code, message, hint };
  }
  if (error instanceof SignpostError) {
    return { exitCode: exitCodeOf(error), code: error.code, message: error.message, hint: HINTS[error.code] };
  }
  // A mistake in this program, or in a library: its stack is what a report needs.
  const message = error instanceof Error ? (error.stack ?? error.message) : "something that is not an Error was thrown";
  return { exitCode: EXIT.backend, code: "internal", message, hint: undefined };
}

function exitCodeOf(error: SignpostError): ExitCode {
  if (error instanceof ConfigurationError || error instanceof EncodingError) return EXIT.usage;
  return error instanceof SignerError && error.code === "invalid_argument" ? EXIT.usage : EXIT.backend;
}

const HINTS: Readonly<Record<string, string>> = {
  access_denied:
    "The message says what was refused. Signing needs credentials that may read the public key and sign with it, from this network.",
  pin_incorrect: "Check the PIN before you try again: a token locks after a few wrong PINs.",
  pin_locked: "The token's security officer has to unlock the PIN.",
  unsupported_key: "Signpost signs with EC keys on the curve P-256 only. `signpost keygen` creates one.",
};
