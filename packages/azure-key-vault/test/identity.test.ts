import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeAzureKeyVault, type FakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";

// An application outside of this clone, which has installed the package, and which may have installed @azure/identity.

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
let fake: FakeAzureKeyVault;
let folder: string;

beforeAll(async () => {
  fake = await startFakeAzureKeyVault();
  folder = await mkdtemp(join(tmpdir(), "signpost-azure-identity-"));
  const modules = join(folder, "node_modules");
  await mkdir(join(modules, "@signpost"), { recursive: true });
  // A copy, because Node looks for the peer dependency where the package really is.
  await cp(join(PACKAGE, "dist"), join(modules, "@signpost/azure-key-vault/dist"), { recursive: true });
  await cp(join(PACKAGE, "package.json"), join(modules, "@signpost/azure-key-vault/package.json"));
  await symlink(join(PACKAGE, "../core"), join(modules, "@signpost/core"));
  await symlink(dirname(fileURLToPath(import.meta.resolve("undici/package.json"))), join(modules, "undici"));
  await writeFile(join(folder, "app.mjs"), APP);
});
afterAll(async () => {
  await fake.stop();
  await rm(folder, { recursive: true });
});

const APP = `
import { openSigner } from "@signpost/core";
import { azureKeyVault } from "@signpost/azure-key-vault";

try {
  const open = () => openSigner(process.env.KEY_URI, [azureKeyVault()]);
  const [signer, other] = await Promise.all([open(), open()]);
  const signature = await signer.sign(new Uint8Array(32));
  console.log(signer.uri, signature.length);
  await Promise.all([signer.close(), other.close()]);
} catch (error) {
  console.log(String(error));
}
`;

async function run(env: NodeJS.ProcessEnv): Promise<string> {
  const KEY_URI = `azurekms:///127.0.0.1:${fake.port}/keys/op`;
  const { stdout } = await promisify(execFile)(process.execPath, ["app.mjs"], {
    cwd: folder,
    env: { PATH: process.env["PATH"], KEY_URI, NODE_EXTRA_CA_CERTS: fake.caFile, ...env },
  });
  return stdout.trim();
}

test("a key URI without @azure/identity says what to install", async () => {
  expect(await run({})).toBe(
    "ConfigurationError: credential: expected a credential, or @azure/identity to be installed (npm install @azure/identity)",
  );
  expect(fake.requests).toHaveLength(0);
});

/** Installs a stand-in, which says what it is asked. */
async function installIdentity(): Promise<void> {
  const stand = join(folder, "node_modules/@azure/identity");
  await mkdir(stand, { recursive: true });
  await writeFile(join(stand, "package.json"), '{"type":"module","exports":"./index.js"}');
  await writeFile(
    join(stand, "index.js"),
    `export class DefaultAzureCredential {
      constructor(options) {
        console.log("a credential", JSON.stringify(options));
      }
      async getToken(scope) {
        console.log("was asked");
        if (scope !== "https://127.0.0.1/.default") throw new Error(scope);
        return { token: process.env.TOKEN, expiresOnTimestamp: Date.now() + 3600000 };
      }
    }`,
  );
}

test("key URIs with @azure/identity share its default credential", async () => {
  await installIdentity();
  const { token } = fake.entra.issue("https://127.0.0.1/.default");
  const uri = `azurekms:///127.0.0.1:${fake.port}/keys/op/${fake.key.latest.version}`;
  expect(await run({ TOKEN: token })).toBe(
    `a credential {"processTimeoutInMs":10000}\nwas asked\nwas asked\n${uri} 64`,
  );
});

test.each(["AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_CERTIFICATE_PATH"])(
  "the default credential is not asked while %s names a FIFO",
  async (variable) => {
    await installIdentity();
    const fifo = join(folder, variable);
    await promisify(execFile)("mkfifo", [fifo]);
    const said = await run({ [variable]: fifo });
    expect(said).toContain(`the credential gave no token: ${variable}: expected a regular file, not a FIFO`);
    expect(said).not.toContain("was asked");
    const { token } = fake.entra.issue("https://127.0.0.1/.default");
    expect(await run({ [variable]: fifo, AZURE_CLIENT_SECRET: "secret", TOKEN: token })).toContain("was asked");
  },
);
