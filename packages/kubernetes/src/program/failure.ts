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

/** How `@signpost/pkcs11` speaks of a PIN to a program that calls it, and what the operator of this program has in its place. */
const WORDS: readonly (readonly [ofProgram: RegExp, ofOperator: string])[] = [
  [/the (?:function of the )?option pin\b/g, "adapters.pkcs11.pin"],
  [/the function of the option pinSource\b/g, "pin-source in the URI of the key"],
  [/call forgetRefusedPins\(\)(?: or restart this process|, which allows it)?/g, "restart this signer"],
];

function inOurWords(message: string): string {
  return WORDS.reduce((text, [theirs, ours]) => text.replaceAll(theirs, ours), message);
}

/** The message of an error of ours says what to do. Any other may contain anything. */
export function failureOf(error: unknown): Failure {
  if (error instanceof SignpostError) {
    const exitCode = error instanceof ConfigurationError ? USAGE : BACKEND;
    const uri = error instanceof SignerError && error.uri !== undefined ? ` (${error.uri})` : "";
    return { exitCode, code: error.code, message: `${inOurWords(error.message)}${uri}` };
  }
  const name = error instanceof Error ? error.name : typeof error;
  return { exitCode: BACKEND, code: "internal", message: `unexpected ${name}` };
}
