import { ConfigurationError, SignerError } from "@signpost/core";
import { memberOf, readRegularFile, withinDeadline } from "@signpost/core/adapter";
import { isSecret } from "./auth.ts";
import { unusableSecret } from "./token-calls.ts";

const MAX_BYTES = 16_384;

// Codes for a file that may be readable later: too many files are open, or the disk or its server fails.
const PASSES = /^E(?:[MN]FILE|IO|STALE)$/;

/** A mount may hang. A later read joins the one that still runs. Milliseconds. */
const READ_MS = 10_000;

/**
 * The token, secret id or JWT in a file, without a byte order mark and without white space around it. The error names the
 * file, never the content.
 *
 * @throws SignerError `access_denied`; `unavailable` if the file may be readable later; `timeout` after 10 seconds.
 */
export async function readSecretFile(argument: string, path: string): Promise<string> {
  const message = lateMessage(argument, path, READ_MS);
  const read = (): Promise<Uint8Array> => readRegularFile(argument, path, MAX_BYTES);
  const bytes = await withinDeadline(read, { deadlineMs: READ_MS, message }).catch((error: unknown) => {
    throw unreadable(argument, path, error);
  });
  const secret = new TextDecoder().decode(bytes).trim();
  if (isSecret(secret)) return secret;
  throw unusableSecret(`the content of ${describeFile(argument, path)}`);
}

/** The caller may have passed the secret itself. So only what is clearly a path is shown. */
function describeFile(argument: string, path: string): string {
  return PATH.test(path) ? `the file ${path} (${argument})` : `the file in ${argument}`;
}

const PATH = /^(?:\/[\w.@+-]{1,64}){2,16}$/;

/** The message for a file whose reading takes too long. */
export function lateMessage(argument: string, path: string, ms: number): string {
  return `${describeFile(argument, path)} was not read within ${ms} ms`;
}

function unreadable(argument: string, path: string, error: unknown): SignerError {
  if (error instanceof SignerError) return error;
  if (error instanceof ConfigurationError) return new SignerError("access_denied", error.message);
  const code = String(memberOf(error, "code"));
  const text = `${describeFile(argument, path)} cannot be read: ${code}`;
  return new SignerError(PASSES.test(code) ? "unavailable" : "access_denied", text);
}
