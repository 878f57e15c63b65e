import { createRemoteJWKSet, jwtVerify } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { startOpenbao } from "@signpost/test-backends/openbao";
import { freePort } from "@signpost/test-backends/process";
import { startExample } from "./support/example-program.ts";

test("examples/vault-transit issues a token that verifies, and ends by itself on SIGTERM", async () => {
  const server = await startOpenbao();
  onTestFinished(() => server.stop());
  await server.must("POST", "transit/keys/op", { type: "ecdsa-p256" });
  const port = await freePort();
  const issuer = "https://op.example";
  const env = { ISSUER: issuer, VAULT_ADDR: server.address, VAULT_TOKEN: server.token, PORT: String(port) };
  const program = await startExample("vault-transit", { env });
  onTestFinished(() => program.remove());
  await program.printed("listening");
  const base = `http://127.0.0.1:${port}`;
  const { id_token: token } = (await (await fetch(`${base}/token`)).json()) as { id_token: string };
  const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${base}/jwks`)), { issuer, audience: "rp" });
  expect(payload.sub).toBe("248289761001");
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});
