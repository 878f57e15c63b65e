import { execFile, execFileSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Etcd, startEtcd } from "@signpost/test-backends/etcd";
import { type KeptSocket, startKeptSocket } from "@signpost/test-backends/kept-socket";
import { type KubeApiserver, startKubeApiserver } from "@signpost/test-backends/kube-apiserver";
import { freePort } from "@signpost/test-backends/process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { patchedCommand, readExample } from "./kubeadm.ts";

// The configuration and the flags of the example, with a local key, and with the paths of this run.

const BIN = join(dirname(createRequire(import.meta.url).resolve("@signpost/kubernetes/package.json")), "dist/bin.js");

let folder: string;
let signer: KeptSocket;
let etcd: Etcd;
let kube: KubeApiserver;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-service-accounts-"));
  await writeFiles();
  await mkdir(join(folder, "run"), { mode: 0o700 });
  const socket = join(folder, "run/signer.sock");
  const command = [process.execPath, BIN, "--config", join(folder, "kubernetes.json")] as const;
  [signer, etcd] = await Promise.all([startKeptSocket({ path: socket, name: "signer", command }), startEtcd()]);
  const flags = (await patchedCommand())
    .filter((flag) => flag.startsWith("--service-account") && !flag.startsWith("--service-account-issuer="))
    .map((flag) => flag.replace("/run/signpost-kubernetes/signer.sock", socket));
  kube = await startKubeApiserver({ etcd, flags });
  await kube.createServiceAccount();
}, 120_000);
afterAll(async () => {
  await kube?.stop();
  await etcd?.stop();
  await signer?.stop();
  await rm(folder, { recursive: true });
});

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

async function schedule(): Promise<string> {
  return (await readExample("schedule.json")).replace(
    /"awskms:[^"]+"/,
    JSON.stringify(`local:${join(folder, "key.pem")}`),
  );
}

function headerOf(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()) as Record<string, unknown>;
}

async function writeFiles(): Promise<void> {
  const { publicKey: old } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const write = (name: string, content: string | Buffer): Promise<void> => writeFile(join(folder, name), content);
  await write("key.pem", privateKey.export({ type: "pkcs8", format: "pem" }));
  await write("sa.pub", old.export({ type: "spki", format: "pem" }));
  await write("kubernetes.json", (await readExample("kubernetes.json")).replace("8091", String(await freePort())));
  await write("schedule.json", await schedule());
}

test("kube-apiserver signs and accepts with the files of the example", async () => {
  const { token, status } = await kube.requestToken();
  expect(status).toBe(201);
  expect(headerOf(token)).toEqual({ alg: "ES256", kid: "sa-2026-01", typ: "JWT" });
  expect(await kube.reviewToken(token)).toMatchObject({ authenticated: true });
  // With the key of sa.pub, for tokens from before.
  expect((await kube.publishedKeys()).size).toBe(2);
});

test("kube-key.mjs gives the kid and the file with which another control plane accepts these tokens", async () => {
  const file = join(folder, "signer.pub");
  const jwk = createPublicKey(privateKey).export({ format: "jwk" });
  const script = fileURLToPath(new URL("../kube-key.mjs", import.meta.url));
  const printed = execFileSync(process.execPath, [script, file], { input: JSON.stringify({ publicKey: jwk }) });
  const kid = printed.toString().trim();
  await writeFile(join(folder, "schedule.json"), (await schedule()).replace("sa-2026-01", kid));
  await signer.signal("SIGHUP");
  await using other = await startKubeApiserver({
    etcd,
    flags: [`--service-account-key-file=${file}`, `--service-account-signing-key-file=${join(folder, "key.pem")}`],
  });
  expect([...(await other.publishedKeys()).keys()]).toEqual([kid]);
  await expect.poll(async () => headerOf((await kube.requestToken()).token)["kid"], { timeout: 20_000 }).toBe(kid);
  expect(await other.reviewToken((await kube.requestToken()).token)).toMatchObject({ authenticated: true });
});

test("signpost rotate reads the schedule of the example", async () => {
  const cli = join(dirname(createRequire(import.meta.url).resolve("@signpost/cli/package.json")), "dist/bin.js");
  const args = [cli, "rotate", "validate", "--config", join(folder, "schedule.json"), "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true });
});
