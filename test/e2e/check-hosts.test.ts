import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@signpost/test-backends/process";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { exportJWK, generateKeyPair } from "jose";
import { Provider } from "oidc-provider";
import { expect, onTestFinished, test } from "vitest";
import { signpostCheck } from "./support/check.ts";
import { startExample } from "./support/example-program.ts";
import { startLoopbackServer } from "./support/loopback-server.ts";

// `signpost check` against what publishes key sets today. The verdicts were decided by hand, from the answers and the clauses.

const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "rsa-1", alg: "RS256", use: "sig" }] };

/** A framework that sends JSON, and nothing for caches. */
const PLAIN = {
  code: 1,
  verdicts: { etag: "should", "304-star": "must", lifetime: "should", "media-type": "note", method: "should" },
};

async function serve(listener: RequestListener): Promise<string> {
  const server = await startLoopbackServer(listener);
  onTestFinished(() => server.close());
  return server.origin;
}

test("oidc-provider with its own keys", async () => {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const key = { ...(await exportJWK(privateKey)), kid: "rsa-1", alg: "RS256", use: "sig" };
  const provider = new Provider(issuer, { jwks: { keys: [key] } });
  const server = createServer((request, response) => void provider.callback()(request, response)).listen(
    port,
    "127.0.0.1",
  );
  onTestFinished(() => void server.close());
  await expect(signpostCheck(issuer)).resolves.toEqual({
    code: 1,
    verdicts: {
      // No ETag, and `*` is not read.
      etag: "should",
      "304-star": "must",
      // No Cache-Control.
      lifetime: "should",
      // With a charset.
      "media-type": "note",
      // 404.
      method: "should",
      vary: "note",
    },
  });
});

test.each(["node-http", "oidc-provider"])("the example %s keeps Signpost's contract", async (name) => {
  const port = await freePort();
  const program = await startExample(name, { env: { PORT: String(port), ISSUER: "" } });
  onTestFinished(() => program.remove());
  await program.printed("listening");
  await expect(signpostCheck(`http://localhost:${port}`, "--strict")).resolves.toEqual({
    code: 0,
    verdicts: { "304-weak": "note" },
  });
});

test("a set that Express sends", async () => {
  const origin = await serve(express().get("/jwks", (_request, response) => void response.json(jwks)));
  await expect(signpostCheck(`${origin}/jwks`)).resolves.toEqual({
    code: 1,
    verdicts: { etag: "note", lifetime: "should", "media-type": "note", method: "should" },
  });
});

test("a file that Express serves", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-check-hosts-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "jwks.json"), JSON.stringify(jwks));
  const origin = await serve(express().use(express.static(folder, { maxAge: "1h" })));
  await expect(signpostCheck(`${origin}/jwks.json`)).resolves.toEqual({
    code: 1,
    verdicts: { etag: "note", "media-type": "note", method: "should" },
  });
});

test("a set that Fastify sends", async () => {
  const app = fastify().get("/jwks", async () => jwks);
  onTestFinished(() => app.close());
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  await expect(signpostCheck(`${origin}/jwks`)).resolves.toEqual(PLAIN);
});

test("a set that Hono sends", async () => {
  const app = new Hono().get("/jwks", (context) => context.json(jwks));
  const origin = await serve((request, response) => {
    void (async () => {
      const answer = await app.request(request.url ?? "/", {
        method: request.method ?? "GET",
        headers: request.headers as Record<string, string>,
      });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    })();
  });
  await expect(signpostCheck(`${origin}/jwks`)).resolves.toEqual(PLAIN);
});
