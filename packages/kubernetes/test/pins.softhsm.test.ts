import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ISSUER } from "./support/claims.ts";
import { privateFolder } from "./support/private-folder.ts";
import { startSigner } from "./support/run-signer.ts";

// What the operator is told of a PIN: which token, where the PIN comes from, and what to do.

let hsm: SoftHsm;
beforeAll(async () => {
  hsm = await startSoftHsm({ label: "sa" });
  await hsm.generateKey({ label: "sa-2026", id: "01" });
});
afterAll(() => hsm[Symbol.asyncDispose]());

async function failureOf(query: string, pkcs11: object, env: NodeJS.ProcessEnv = {}): Promise<string> {
  await using folder = await privateFolder();
  const config = await folder.write("config.json", {
    issuer: ISSUER,
    socket: { path: folder.at("signer.sock") },
    maxTokenLifetimeSeconds: 3600,
    keys: [{ uri: `pkcs11:token=sa;object=sa-2026?module-path=${hsm.module}${query}` }],
    adapters: { pkcs11 },
  });
  await folder.write("pin", "0000");
  await using signer = startSigner(config, ["--check"], { ...hsm.env, ...env });
  return (await signer.log.next("failed")).message;
}

const REFUSED = (source: string): RegExp =>
  new RegExp(
    `^token "sa" .* refused the PIN from ${source} \\(C_Login: CKR_PIN_INCORRECT .*` +
      "Correct the PIN at its source. If you fixed the token instead, restart this signer \\(pkcs11:",
  );

test("a PIN of the configuration that the token refuses", async () => {
  expect(await failureOf("", { pin: "file:pin" })).toMatch(REFUSED("adapters.pkcs11.pin"));
});

test("a PIN of a URI that the token refuses", async () => {
  const message = await failureOf("&pin-source=env:SA_PIN", {}, { SA_PIN: "0001" });
  expect(message).toMatch(REFUSED("pin-source in the URI of the key"));
});

test("a file that is not there", async () => {
  expect(await failureOf("", { pin: "file:away" })).toContain(
    "adapters.pkcs11.pin gave no PIN: adapters.pkcs11.pin: the file of a secret cannot be read (ENOENT)",
  );
});
