import { join } from "node:path";
import { ConfigurationError } from "@signpost/core";
import { memberOf, readRegularFile } from "@signpost/core/adapter";
import { gcloudFolders } from "./gcloud-folders.ts";

const MAX_BYTES = 1_048_576;

/**
 * Waits until the files can be read that the file with the credentials names. `auth` is the client's, after it has read its own
 * file.
 *
 * The SDK reads these files in each search for credentials, and each read of a mount that hangs blocks one of the four threads of
 * libuv's pool. So it reads only what was read here just before: here, all signers wait for one read.
 */
export async function untilFilesAnswer(auth: unknown): Promise<void> {
  // Impersonation can have another one as its source, in any number of steps.
  for (let json = memberOf(auth, "jsonContent"); json !== undefined; json = memberOf(json, "source_credentials")) {
    const source = memberOf(json, "credential_source") ?? memberOf(json, "credentialSource");
    await answer(memberOf(source, "file"));
    await answer(memberOf(memberOf(source, "executable"), "output_file"));
    await certificateAnswers(memberOf(source, "certificate"));
  }
}

async function certificateAnswers(certificate: unknown): Promise<void> {
  if (typeof certificate !== "object" || certificate === null) return;
  const config = parsed(await answer(certificateConfig(certificate)));
  const workload = memberOf(memberOf(config, "cert_configs"), "workload");
  await regularAnswers(workload, "cert_path");
  await regularAnswers(workload, "key_path");
  await regularAnswers(certificate, "trust_chain_path");
}

/** Refuses a FIFO or a device here, since the SDK would open it, and each time block a thread that never comes back. */
async function regularAnswers(content: unknown, name: string): Promise<void> {
  const path = memberOf(content, name);
  if (typeof path !== "string" || path === "") return;
  await readRegularFile(name, path, MAX_BYTES).catch((error: unknown) => {
    if (error instanceof ConfigurationError) throw error;
  });
}

/** Where the SDK looks for the paths of the certificate and of its key. */
function certificateConfig(certificate: object): unknown {
  const named: unknown = memberOf(certificate, "certificate_config_location");
  if (typeof named === "string" && named !== "") return named;
  const [folder] = gcloudFolders();
  const known = folder === undefined ? undefined : join(folder, "certificate_config.json");
  return process.env["GOOGLE_API_CERTIFICATE_CONFIG"] || known;
}

/** The file's bytes. Undefined if it cannot be read, or is not named: the SDK says what is wrong. */
async function answer(path: unknown): Promise<Uint8Array | undefined> {
  if (typeof path !== "string") return undefined;
  return readRegularFile("credential_source", path, MAX_BYTES).catch(() => undefined);
}

function parsed(json: Uint8Array | undefined): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(json));
  } catch {
    return undefined;
  }
}
