import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Tested as they are started. */
const EXAMPLES = [
  "azure-container-apps",
  "better-auth",
  "client-keys",
  "credential-issuer",
  "credo",
  "demo",
  "express",
  "fastify",
  "federation",
  "gcp-cloud-run",
  "hono",
  "koa",
  "minimal-op",
  "nestjs",
  "nextjs",
  "node-http",
  "oidc-provider",
  "vault-transit",
];

/**
 * vitest's global set-up: builds the packages and the examples. Worker threads and child processes of `@signpost/pkcs11`,
 * and programs of tests, run JavaScript also when the sources are what is tested: Node 20 runs no TypeScript. Before all
 * tests, since a test that builds writes what another one reads.
 */
export function setup(): void {
  const root = fileURLToPath(new URL("../", import.meta.url));
  const args = ["scripts/build.mjs", "test/faults", ...EXAMPLES.map((name) => `examples/${name}`)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  // Type errors are the type gate's to report; the files are written in spite of them.
  if (status !== 0) process.stderr.write(`the packages were built with errors:\n${stdout}${stderr}`);
}
