import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  emulatorCredentials,
  exportForEmulator,
  type KmsEmulator,
  type KmsEmulatorOptions,
} from "./aws-kms-emulator.ts";
import { assertLoopbackOnly, cacheFolder, startProcess } from "./process.ts";

const ACCOUNT_ID = "111122223333";

/**
 * Starts local-kms, an independent implementation of the AWS KMS API in Go. It checks neither the signature nor the region
 * of a request.
 */
export async function startLocalKms(options: KmsEmulatorOptions = {}): Promise<KmsEmulator> {
  const region = options.region ?? "eu-west-1";
  const directory = await mkdtemp(join(tmpdir(), "signpost-local-kms-"));
  const configuration = {
    region,
    accountId: ACCOUNT_ID,
    dataPath: join(directory, "data"),
    port: options.port ?? 0,
    keys: (options.keys ?? []).map((key) => ({ keyId: key.keyId, privateKey: exportForEmulator(key) })),
  };
  const child = startProcess({
    command: join(cacheFolder(), "local-kms", "local-kms"),
    input: `${JSON.stringify(configuration)}\n`,
  });
  const stop = async (): Promise<void> => {
    // A frozen process handles only this signal, and its data is not needed any more.
    await child.stop({ signal: "SIGKILL" });
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const { port } = JSON.parse(await child.firstLine()) as { port: number };
    await assertLoopbackOnly(child.pid, port);
    return {
      endpoint: `http://127.0.0.1:${port}`,
      port,
      pid: child.pid,
      region,
      credentials: emulatorCredentials(),
      keyArn: (keyId) => `arn:aws:kms:${region}:${ACCOUNT_ID}:key/${keyId}`,
      freeze: child.freeze,
      thaw: child.thaw,
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
