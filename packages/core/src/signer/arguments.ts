import { SignerError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { copiedBytes } from "../options/copied-bytes.ts";
import { given } from "../given.ts";
import type { SignOptions } from "./contract.ts";

/** A copy of a SHA-256 digest, since the caller may reuse its buffer while the call waits. */
export function copiedDigest(digest: unknown): Uint8Array {
  // Checks the length of the copy, since a subclass may report any length.
  const copy = copiedBytes(digest);
  if (copy?.length === 32) return copy;
  const got = copy === undefined ? given(digest) : `${copy.length} bytes`;
  throw new SignerError("invalid_argument", `digest: expected a SHA-256 digest (a Uint8Array of 32 bytes), got ${got}`);
}

const SIGN_OPTIONS: OptionNames<SignOptions> = { signal: true, signingInput: true };

/**
 * A copy of the options, each read once. JavaScript callers may pass anything, and a wrong option must not look like a
 * failure of the backend. The signing input is copied too, since the caller may reuse its buffer while the call waits.
 */
export function checkedOptions(options: SignOptions): SignOptions {
  try {
    assertOptions("options", options, SIGN_OPTIONS);
  } catch (cause) {
    throw new SignerError("invalid_argument", cause instanceof Error ? cause.message : "options", { cause });
  }
  const { signal, signingInput } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    throw invalid("signal", "an AbortSignal", signal);
  if (signingInput === undefined) return signal === undefined ? {} : { signal };
  const copy = copiedBytes(signingInput);
  if (copy === undefined) throw invalid("signingInput", "a Uint8Array", signingInput);
  return { signal, signingInput: copy };
}

function invalid(argument: string, expected: string, value: unknown): SignerError {
  return new SignerError("invalid_argument", `${argument}: expected ${expected}, got ${given(value)}`);
}
