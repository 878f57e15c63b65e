import { memberOf, readRegularFile } from "@signpost/core/adapter";

const MAX_BYTES = 65_536;

/**
 * Waits until the file with the platform's token can be read. `auth` is the client's, after it has read its own file.
 *
 * The SDK reads that file in each search for credentials, and each read of a mount that hangs blocks one of the four threads of
 * libuv's pool. So it reads only what was read here just before: here, all signers wait for one read.
 */
export async function untilFileAnswers(auth: unknown): Promise<void> {
  const path = fileIn(memberOf(auth, "jsonContent"));
  if (path === undefined) return;
  // The SDK says what is wrong with it.
  await readRegularFile("credential_source.file", path, MAX_BYTES).catch(() => undefined);
}

/** Of workload identity, which impersonation may have as its source. */
function fileIn(json: unknown): string | undefined {
  for (let content = json; content !== undefined; content = memberOf(content, "source_credentials")) {
    const file = memberOf(memberOf(content, "credential_source"), "file");
    if (typeof file === "string") return file;
  }
  return undefined;
}
