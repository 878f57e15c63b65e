import { createRemoteJWKSet, jwtVerify } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { startFakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";
import { startFakeManagedIdentity } from "@signpost/test-backends/fake-managed-identity";
import { freePort } from "@signpost/test-backends/process";
import { startExample } from "./support/example-program.ts";

test("examples/azure-container-apps, with the real @azure/identity, issues a token that verifies, and ends by itself", async () => {
  const vault = await startFakeAzureKeyVault();
  onTestFinished(() => vault.stop());
  const identity = await startFakeManagedIdentity(vault.entra);
  onTestFinished(() => identity.stop());
  const port = await freePort();
  const issuer = "https://op.example";
  const program = await startExample("azure-container-apps", {
    env: {
      ISSUER: issuer,
      KEY: `${vault.url}/keys/op`,
      PORT: String(port),
      NODE_EXTRA_CA_CERTS: vault.caFile,
      ...identity.env,
    },
  });
  onTestFinished(() => program.remove());
  await program.printed("listening");
  const base = `http://127.0.0.1:${port}`;
  expect((await fetch(`${base}/ready`)).status).toBe(200);
  const { id_token: token } = (await (await fetch(`${base}/token`)).json()) as { id_token: string };
  const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${base}/jwks`)), { issuer, audience: "rp" });
  expect(payload.sub).toBe("248289761001");
  expect(identity.resources).toEqual(["https://127.0.0.1"]);
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});
