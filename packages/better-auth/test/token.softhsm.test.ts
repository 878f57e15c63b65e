import { createRemoteJWKSet, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { createKeySet } from "@signpost/core";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { HOST, startApp } from "./support/host.ts";

test("a token of better-auth is signed by a key that never leaves SoftHSM", async () => {
  const hsm = await startSoftHsm();
  await hsm.generateKey({ label: "sig", id: "01" });
  const signer = await openPkcs11Signer({ module: hsm.module, token: hsm.tokenLabel, object: "sig", pin: hsm.pin });
  const app = await startApp(HOST, { keys: createKeySet([{ signer }]) });
  const cookie = await app.signUp();
  const response = await app.request("/api/auth/token", { headers: { cookie } });
  const { token } = (await response.json()) as { token: string };
  const keys = createRemoteJWKSet(new URL(app.endpoint.jwksUri));
  const { payload } = await jwtVerify(token, keys, { issuer: app.url, audience: app.url, algorithms: ["ES256"] });
  expect(payload).toMatchObject({ email: "ada@rp.example" });
  await app.close();
  await signer.close();
  await hsm.stop();
});
