// ServiceAccount tokens: a key in SoftHSM behind our signer, against the file that kube-apiserver signs with itself. And a
// signature through the socket, against the same signer in this process.
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKubernetesSigner } from "@signpost/kubernetes";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { startEtcd } from "@signpost/test-backends/etcd";
import { KUBE_ISSUER, type KubeApiserver, startKubeApiserver } from "@signpost/test-backends/kube-apiserver";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { concurrently, type Contender, type Pairing, runBench, sequentially } from "./harness.ts";
import { startKubernetesSigner } from "./kubernetes-signer.ts";

const CALLERS = 16;
/** Ours as a multiple of kube-apiserver with its own key. The key in the HSM and the check of the signature are in it. */
const THROUGH_KUBE = 2;
const OPERATIONS = 64;
const PAIRS = 20;

await runBench({
  name: "kubernetes",
  title: "Kubernetes: ServiceAccount tokens",
  packages: ["@signpost/kubernetes", "@signpost/pkcs11", "@grpc/grpc-js"],
  setUp: async () => {
    const folder = await mkdtemp(join(tmpdir(), "signpost-bench-kube-"));
    const inTree = await writeOwnKey(folder);
    const hsm = await startSoftHsm({ label: "bench" });
    await hsm.generateKey({ label: "k1", id: "01" });
    const uri = `pkcs11:token=bench;object=k1?module-path=${hsm.module}&pin-source=file:${join(folder, "pin")}`;
    await writeFile(join(folder, "pin"), hsm.pin, { mode: 0o600 });
    const signer = await startKubernetesSigner({ issuer: KUBE_ISSUER, uri, env: hsm.env });
    const direct = await openPkcs11Signer({ module: hsm.module, token: "bench", object: "k1", pin: hsm.pin });
    const inProcess = createKubernetesSigner({
      issuer: KUBE_ISSUER,
      keys: [{ signer: direct }],
      maxTokenLifetimeSeconds: 86_400,
    });
    const etcd = await startEtcd();
    const own = await startKubeApiserver({ etcd, flags: inTree });
    const ours = await startKubeApiserver({
      etcd,
      flags: [`--service-account-signing-endpoint=${signer.socket}`],
    });
    await own.createServiceAccount();
    const claims = claimsOf(await tokenOf(ours));

    const throughKube = (name: string, run: (operation: () => Promise<unknown>) => Contender["run"]): Pairing => ({
      name: `a token through kube-apiserver, ${name}`,
      ours: { name: "ES256 by the signer, key in SoftHSM", run: run(() => tokenOf(ours)) },
      peer: { name: "RS256 by kube-apiserver, key in a file", run: run(() => tokenOf(own)) },
      operations: OPERATIONS,
      pairs: PAIRS,
      target: { ratio: THROUGH_KUBE },
    });
    const throughSocket = (name: string, run: (operation: () => Promise<unknown>) => Contender["run"]): Pairing => ({
      name: `a signature through the socket, ${name}`,
      ours: { name: "through the socket", run: run(() => signer.sign(claims)) },
      peer: { name: "in one process", run: run(() => inProcess.sign(claims)) },
      operations: OPERATIONS,
      pairs: PAIRS,
    });
    return {
      pairings: [
        throughKube("one after another", sequentially),
        throughKube(`${CALLERS} callers`, (operation) => concurrently(CALLERS, operation)),
        throughSocket("one after another", sequentially),
        throughSocket(`${CALLERS} callers`, (operation) => concurrently(CALLERS, operation)),
      ],
      tearDown: async () => {
        await ours.stop();
        await own.stop();
        await etcd.stop();
        await direct.close();
        await signer[Symbol.asyncDispose]();
        await hsm.stop();
        await rm(folder, { recursive: true });
      },
    };
  },
});

/** What kubeadm makes, and the flags for it. */
async function writeOwnKey(folder: string): Promise<readonly string[]> {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await writeFile(join(folder, "sa.pub"), publicKey.export({ type: "spki", format: "pem" }));
  await writeFile(join(folder, "sa.key"), privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  return [
    `--service-account-key-file=${join(folder, "sa.pub")}`,
    `--service-account-signing-key-file=${join(folder, "sa.key")}`,
  ];
}

async function tokenOf(kube: KubeApiserver): Promise<string> {
  const { status, token, message } = await kube.requestToken();
  if (status !== 201) throw new Error(`no token: ${status} ${message}`);
  return token;
}

function claimsOf(token: string): string {
  return token.split(".")[1] ?? "";
}
