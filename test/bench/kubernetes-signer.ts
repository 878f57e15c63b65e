import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { credentials, Client } from "@grpc/grpc-js";
import { freePort, startProcess } from "@signpost/test-backends/process";

/** `signpost-kubernetes` in a process, and a client of its socket. */
export interface KubernetesSignerProcess extends AsyncDisposable {
  readonly socket: string;
  /** Signs these claims through the socket. */
  sign(claims: string): Promise<void>;
}

const require = createRequire(import.meta.url);
const BIN = join(dirname(require.resolve("@signpost/kubernetes/package.json")), "dist/bin.js");
const SIGN = "/v1.ExternalJWTSigner/Sign";

export interface KubernetesSignerOptions {
  readonly issuer: string;
  readonly uri: string;
  readonly env: NodeJS.ProcessEnv;
}

export async function startKubernetesSigner({
  issuer,
  uri,
  env,
}: KubernetesSignerOptions): Promise<KubernetesSignerProcess> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-bench-"));
  await mkdir(join(folder, "run"), { mode: 0o700 });
  const socket = join(folder, "run/signer.sock");
  const port = await freePort();
  const config = {
    issuer,
    socket: { path: socket },
    maxTokenLifetimeSeconds: 86_400,
    keys: [{ uri }],
    admin: { port },
  };
  await writeFile(join(folder, "kubernetes.json"), JSON.stringify(config));
  const args = [BIN, "--config", join(folder, "kubernetes.json")];
  const child = startProcess({ command: process.execPath, args, env: { ...env, NODE_NO_WARNINGS: "1" } });
  await child.waitUntil("is ready", () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  return {
    socket,
    sign: (claims) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(SIGN, signRequest, signatureLength, claims, (error, length) => {
          if (error !== null) reject(error);
          else if (length === undefined || length < SHORTEST_ANSWER) reject(new Error("no signature"));
          else resolve();
        });
      }),
    [Symbol.asyncDispose]: async () => {
      client.close();
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A header and 64 bytes in base64url. */
const SHORTEST_ANSWER = 120;

/** The message of Sign: field 1 is the claims. */
function signRequest(claims: string): Buffer {
  const text = Buffer.from(claims);
  return Buffer.concat([Buffer.from([0x0a, (text.length & 0x7f) | 0x80, text.length >> 7]), text]);
}

function signatureLength(answer: Buffer): number {
  return answer.length;
}
