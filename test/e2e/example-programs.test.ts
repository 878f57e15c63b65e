import { expect, onTestFinished, test } from "vitest";
import { freePort } from "@signpost/test-backends/process";
import { startExample } from "./support/example-program.ts";

// Each is started as a user would: compiled, in a separate process, with only a port.
test.each([
  ["node-http", {}],
  ["express", {}],
  ["fastify", {}],
  ["hono", {}],
  ["koa", {}],
  ["nestjs", { PLATFORM: "express" }],
  ["nestjs", { PLATFORM: "fastify" }],
  ["oidc-provider", {}],
])(
  "examples/%s with %o serves its discovery document and its key set, and ends by itself on SIGTERM",
  async (name, env) => {
    const port = await freePort();
    const program = await startExample(name, { env: { ...env, PORT: String(port), ISSUER: "" } });
    onTestFinished(() => program.remove());
    await program.printed("listening");
    const issuer = `http://localhost:${port}`;
    const discovery = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    expect(discovery).toMatchObject({ issuer, jwks_uri: `${issuer}/jwks` });
    const keySet = await fetch(`${issuer}/jwks`);
    expect([keySet.status, keySet.headers.get("content-type")]).toEqual([200, "application/jwk-set+json"]);
    expect(await program.ended("SIGTERM"), program.output()).toBe(0);
  },
);
