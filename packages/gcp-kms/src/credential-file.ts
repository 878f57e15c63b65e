import { readRegularFile, withinDeadline, type CallBounds } from "@signpost/core/adapter";
import type { CallSubject } from "./client-error.ts";
import { credentialsTime } from "./ready.ts";

/** Waits until the file with the credentials can be read. */
export type UntilFileAnswers = () => Promise<void>;

const VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS";
const MAX_BYTES = 1_048_576;

/** The SDK takes both spellings. */
function pathOf(): string {
  return process.env[VARIABLE] || process.env[VARIABLE.toLowerCase()] || "";
}

/**
 * How to wait for the file that the environment names. Undefined if it names none.
 *
 * The SDK reads that file in each search for credentials, at first in the event loop, so that a mount that hangs stops the
 * whole process, and then in one of the four threads of libuv's pool. So it searches only after the file was read here, where
 * all signers wait for one read.
 */
export function findCredentialFile(): UntilFileAnswers | undefined {
  if (pathOf() === "") return undefined;
  return async () => {
    // The SDK says what is wrong with it.
    await readRegularFile(VARIABLE, pathOf(), MAX_BYTES).catch(() => undefined);
  };
}

/** Waits within the time that a call has for credentials. Rejects with `SignerError`. */
export async function fileInTime(wait: UntilFileAnswers, bounds: CallBounds, subject: CallSubject): Promise<void> {
  const deadlineMs = credentialsTime(bounds);
  const message = `cannot ${subject.action} ${subject.name}: the file in ${VARIABLE} was not read within ${deadlineMs} ms`;
  await withinDeadline(wait, { deadlineMs, signal: bounds.signal, message });
}
