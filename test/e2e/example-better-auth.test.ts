import { createRemoteJWKSet, jwtVerify } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "@signpost/test-backends/process";
import { startExample } from "./support/example-program.ts";

test("examples/better-auth signs a user up, issues a token that verifies, and ends by itself on SIGTERM", async () => {
  const port = await freePort();
  const program = await startExample("better-auth", {
    env: { PORT: String(port), ISSUER: "", BETTER_AUTH_SECRET: "" },
  });
  onTestFinished(() => program.remove());
  await program.printed("listening");
  const issuer = `http://localhost:${port}`;
  const discovery = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  expect(discovery).toMatchObject({
    issuer,
    jwks_uri: `${issuer}/api/auth/jwks`,
    id_token_signing_alg_values_supported: ["ES256"],
  });
  const signUp = await fetch(`${issuer}/api/auth/sign-up/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: issuer },
    body: JSON.stringify({ email: "ada@rp.example", password: "correct horse battery", name: "Ada" }),
  });
  const cookie = signUp.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
  const { token } = (await (await fetch(`${issuer}/api/auth/token`, { headers: { cookie } })).json()) as {
    token: string;
  };
  const keys = createRemoteJWKSet(new URL(`${issuer}/api/auth/jwks`));
  const { payload } = await jwtVerify(token, keys, { issuer, audience: issuer, algorithms: ["ES256"] });
  expect(payload).toMatchObject({ email: "ada@rp.example" });
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});
