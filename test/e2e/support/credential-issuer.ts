import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv, promisify } from "node:util";
import { onTestFinished } from "vitest";
import { freePort } from "@signpost/test-backends/process";
import { type ExampleProgram, startExample } from "./example-program.ts";

const SETUP = fileURLToPath(new URL("../../../examples/credential-issuer/setup.sh", import.meta.url));

export interface IssuerFolder {
  readonly path: string;
  /** What the issuer starts with. */
  readonly env: NodeJS.ProcessEnv;
  /** The trust anchor, as PEM. */
  readonly root: string;
}

/** A token, a key, a CA and a chain, made by the script of the example. */
export async function setUpIssuer(issuer: string): Promise<IssuerFolder> {
  const path = await mkdtemp(join(tmpdir(), "signpost-issuer-"));
  onTestFinished(() => rm(path, { recursive: true }));
  const { stdout } = await promisify(execFile)("sh", [SETUP, path, issuer]);
  if (!stdout.includes(`--env-file=${path}/env`)) throw new Error(stdout);
  const root = await readFile(join(path, "root.pem"), "utf8");
  return { path, env: parseEnv(await readFile(join(path, "env"), "utf8")), root };
}

/** Starts `examples/credential-issuer` on a free port. Without `ISSUER`, its name is its address. */
export async function startIssuer(env: NodeJS.ProcessEnv): Promise<{ program: ExampleProgram; address: string }> {
  const port = await freePort();
  const address = `http://localhost:${port}`;
  const program = await startExample("credential-issuer", { env: { PORT: String(port), ISSUER: address, ...env } });
  onTestFinished(() => program.remove());
  await program.printed("listening");
  return { program, address };
}
