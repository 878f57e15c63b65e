import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { claimsOf, ISSUER } from "./support/claims.ts";
import { connectTo } from "./support/grpc-client.ts";
import { type PrivateFolder, privateFolder } from "./support/private-folder.ts";
import { startReady, startSigner } from "./support/run-signer.ts";

// The program ends while calls of the module never return. Otherwise nothing would start it again.

/** Opening, signing and closing have limits of ten seconds each. The rest is for busy machines. */
const TIMEOUT_MS = 120_000;
/** More calls than a test makes. */
const ALL = 1000;

let hsm: SoftHsm;
let shim: Pkcs11Shim;
beforeAll(async () => {
  hsm = await startSoftHsm({ label: "sa" });
  await hsm.generateKey({ label: "sa-2026", id: "01" });
});
afterAll(() => hsm[Symbol.asyncDispose]());
beforeEach(async () => {
  shim = await startShim(hsm.module);
});
afterEach(async () => {
  shim.release();
  await shim.stop();
});

const writeConfig = async (folder: PrivateFolder): Promise<string> => {
  await folder.write("pin", hsm.pin);
  return folder.write("config.json", {
    issuer: ISSUER,
    socket: { path: folder.at("signer.sock") },
    maxTokenLifetimeSeconds: 3600,
    keys: [{ uri: `pkcs11:token=sa;object=sa-2026?module-path=${shim.module}` }],
    adapters: { pkcs11: { pin: "file:pin" } },
  });
};

test(
  "a key that cannot be opened ends the program",
  async () => {
    await using folder = await privateFolder();
    const config = await writeConfig(folder);
    shim.hang("C_Login", ALL);
    await using signer = startSigner(config, [], hsm.env);
    expect(await signer.ended()).toBe(3);
  },
  TIMEOUT_MS,
);

test(
  "SIGTERM ends a program whose signatures do not come",
  async () => {
    await using folder = await privateFolder();
    const config = await writeConfig(folder);
    await using signer = await startReady(config, hsm.env);
    shim.hang("C_Sign", ALL);
    const client = connectTo(folder.at("signer.sock"));
    await expect(client.sign(claimsOf())).rejects.toThrow();
    client.close();
    expect(await signer.stop()).toBe(0);
  },
  TIMEOUT_MS,
);
