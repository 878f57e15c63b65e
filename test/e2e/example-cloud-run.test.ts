import { createRemoteJWKSet, jwtVerify } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { freePort } from "@signpost/test-backends/process";
import { startExample } from "./support/example-program.ts";

test("examples/gcp-cloud-run, started as Cloud Run starts it, issues a token that verifies, and ends by itself on SIGTERM", async () => {
  const kms = await startFakeGcpKms();
  onTestFinished(() => kms.stop());
  const port = await freePort();
  const issuer = "https://op.example";
  const program = await startExample("gcp-cloud-run", {
    env: {
      ISSUER: issuer,
      KEY_VERSIONS: kms.addVersion().name,
      KMS_ENDPOINT: `http://127.0.0.1:${kms.grpcPort}`,
      PORT: String(port),
    },
  });
  onTestFinished(() => program.remove());
  await program.printed("listening");
  const base = `http://127.0.0.1:${port}`;
  expect((await fetch(`${base}/ready`)).status).toBe(200);
  const { id_token: token } = (await (await fetch(`${base}/token`)).json()) as { id_token: string };
  const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${base}/jwks`)), { issuer, audience: "rp" });
  expect(payload.sub).toBe("248289761001");
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});
