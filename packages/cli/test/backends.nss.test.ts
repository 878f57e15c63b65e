import { startNss, type NssToken } from "@signpost/test-backends/nss";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runCli } from "./support/run-cli.ts";

let nss: NssToken;
let folder: KeyFolder;

beforeAll(async () => {
  [nss, folder] = await Promise.all([startNss(), createKeyFolder()]);
});
afterAll(async () => {
  await nss.stop();
  await folder[Symbol.asyncDispose]();
});

test("a module that takes its configuration from libraryParameters has keys made in it, and examined", async () => {
  const { module, libraryParameters, pin } = nss;
  const adapters = { pkcs11: { module, libraryParameters, pin: "env:OP_PIN" } };
  await folder.write("nss.json", { issuer: "https://op.example", keys: [], adapters });
  const uri = `pkcs11:token=${encodeURIComponent(nss.tokenLabel)};object=sig-2027`;
  const options = { cwd: folder.path, env: { OP_PIN: pin } };
  const { code, stdout } = await runCli(["keygen", uri, "--config", "nss.json"], options);
  expect(code).toBe(0);
  const { signer } = JSON.parse(stdout);
  const examined = await runCli(["doctor", signer, "--config", "nss.json", "--samples", "0"], options);
  expect(examined.stdout).toContain("sensitive and not extractable");
});
