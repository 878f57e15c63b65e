import { join } from "node:path";
import { readRegularFile, withinDeadline, type CallBounds } from "@signpost/core/adapter";
import type { CallSubject } from "./client-error.ts";
import { gcloudFolders } from "./gcloud-folders.ts";
import { credentialsTime } from "./ready.ts";

/** Waits until the file with the credentials can be read. */
export type UntilFileAnswers = () => Promise<void>;

const VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS";
const MAX_BYTES = 1_048_576;

/** The SDK takes both spellings. */
function pathOf(): string {
  return process.env[VARIABLE] || process.env[VARIABLE.toLowerCase()] || "";
}

/** The files that a search begins with. */
function paths(): readonly string[] {
  const path = pathOf();
  if (path !== "") return [path];
  return gcloudFolders().map((folder) => join(folder, "application_default_credentials.json"));
}

/**
 * Waits for the file that the environment names, or else for gcloud's.
 *
 * The SDK reads that file in each search for credentials, at first in the event loop, so that a mount that hangs stops the
 * whole process, and then in one of the four threads of libuv's pool. So it searches only after the file was read here, where
 * all signers wait for one read.
 */
export async function credentialFileAnswers(): Promise<void> {
  // The SDK says what is wrong with it.
  for (const path of paths()) await readRegularFile(VARIABLE, path, MAX_BYTES).catch(() => undefined);
}

/** Waits within the time that a call has for credentials. Rejects with `SignerError`. */
export async function fileInTime(wait: UntilFileAnswers, bounds: CallBounds, subject: CallSubject): Promise<void> {
  const deadlineMs = credentialsTime(bounds);
  const file = pathOf() === "" ? "gcloud's file with credentials" : `the file in ${VARIABLE}`;
  const message = `cannot ${subject.action} ${subject.name}: ${file} was not read within ${deadlineMs} ms`;
  await withinDeadline(wait, { deadlineMs, signal: bounds.signal, message });
}
