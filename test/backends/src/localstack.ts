import { copyFile, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  callKms,
  emulatorCredentials,
  exportForEmulator,
  type ImportedKey,
  type KmsEmulator,
  type KmsEmulatorOptions,
} from "./aws-kms-emulator.ts";
import { assertLoopbackOnly, cacheFolder, freePort, startProcess } from "./process.ts";

const ACCOUNT_ID = "000000000000";

/** Where LocalStack keeps the catalog of services, which takes three to five seconds to build on its first call. */
const CATALOGUE_FOLDER = "var/lib/localstack/cache";
const CATALOGUE = /^service-catalog-.*\.dill$/;

/** Starts LocalStack's KMS without Docker, with its own state folder. Its keys are in memory only. */
export async function startLocalstack(options: KmsEmulatorOptions = {}): Promise<KmsEmulator> {
  const region = options.region ?? "eu-west-1";
  const port = options.port ?? (await freePort());
  const home = join(cacheFolder(), "localstack");
  const directory = await mkdtemp(join(tmpdir(), "signpost-localstack-"));
  await copyCatalogue(home, join(directory, CATALOGUE_FOLDER));

  const child = startProcess({
    command: join(home, "venv/bin/python"),
    args: ["-m", "localstack.runtime.main"],
    cwd: directory,
    env: environment(port, directory),
  });
  const stop = async (): Promise<void> => {
    // An orderly end takes up to seven seconds and saves nothing, because the state is in memory.
    await child.stop({ signal: "SIGKILL" });
    await rm(directory, { recursive: true, force: true });
  };
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    // A real call, because the health page is green before KMS answers.
    const answers = async (): Promise<boolean> =>
      (await callKms({ endpoint, region }, "ListKeys", {}).catch(() => undefined))?.status === 200;
    await child.waitUntil("the first answer of KMS", answers);
    await assertLoopbackOnly(child.pid, port);
    await copyCatalogue(join(directory, CATALOGUE_FOLDER), home);
    for (const key of options.keys ?? []) await importKey({ endpoint, region }, key);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    endpoint,
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
}

function environment(port: number, directory: string): NodeJS.ProcessEnv {
  return {
    DISABLE_EVENTS: "1",
    SKIP_SSL_CERT_DOWNLOAD: "1",
    DNS_ADDRESS: "0",
    OVERRIDE_IN_DOCKER: "0",
    // An IPv4 host is ignored here, and every interface bound. The mapped form binds only loopback.
    GATEWAY_LISTEN: `[::ffff:127.0.0.1]:${port}`,
    LOCALSTACK_HOST: `127.0.0.1:${port}`,
    SERVICES: "kms",
    EAGER_SERVICE_LOADING: "1",
    FILESYSTEM_ROOT: directory,
    PYTHONDONTWRITEBYTECODE: "",
  };
}

async function importKey(where: { endpoint: string; region: string }, key: ImportedKey): Promise<void> {
  const { status, output } = await callKms(where, "CreateKey", {
    KeySpec: "ECC_NIST_P256",
    KeyUsage: "SIGN_VERIFY",
    Tags: [
      { TagKey: "_custom_id_", TagValue: key.keyId },
      { TagKey: "_custom_key_material_", TagValue: exportForEmulator(key) },
    ],
  });
  if (status !== 200) throw new Error(`LocalStack did not accept the key: ${status} ${JSON.stringify(output)}`);
}

/**
 * Copies the catalog if there is one and `to` does not have it yet. Renamed at the end, so that a partial copy is never
 * read.
 */
async function copyCatalogue(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const there = await readdir(to);
  for (const name of await readdir(from)) {
    if (!CATALOGUE.test(name) || there.includes(name)) continue;
    const unfinished = join(to, `${name}.${process.pid}`);
    await copyFile(join(from, name), unfinished);
    await rename(unfinished, join(to, name));
  }
}
