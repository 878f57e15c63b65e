import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Etcd } from "./etcd.ts";
import { connectToKube, type KubeApi } from "./kube-api.ts";
import { assertLoopbackOnly, cacheFolder, freePort, startProcess } from "./process.ts";

export interface KubeApiserverOptions {
  /** Several servers on one etcd are the control planes of one cluster. */
  readonly etcd: Etcd;
  /** `--service-account-issuer`, which is `iss` of the tokens. Default {@link KUBE_ISSUER}. */
  readonly issuer?: string | undefined;
  /** How it signs tokens and verifies them: the flags that begin with `--service-account-`. */
  readonly flags: readonly string[];
  /** How long the first answer may take. Default 60 s. */
  readonly readyMs?: number | undefined;
}

export interface KubeApiserver extends KubeApi, AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** What it has logged, the last 64 KiB. */
  log(): string;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** The issuer that kubeadm sets, with the default domain. */
export const KUBE_ISSUER = "https://kubernetes.default.svc.cluster.local";

/**
 * Starts kube-apiserver on a free loopback port and in a private folder. Its client is an administrator. Rejects with its log
 * if it ends first.
 */
export async function startKubeApiserver(options: KubeApiserverOptions): Promise<KubeApiserver> {
  const directory = await mkdtemp(join(tmpdir(), "signpost-kube-"));
  const port = await freePort();
  const adminToken = randomBytes(16).toString("hex");
  const tokenFile = join(directory, "tokens.csv");
  await writeFile(tokenFile, `${adminToken},admin,admin,"system:masters"\n`, { mode: 0o600 });
  const child = startProcess({
    command: join(cacheFolder(), "kube-apiserver", "kube-apiserver"),
    args: [
      `--etcd-servers=${options.etcd.endpoint}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      `--secure-port=${port}`,
      `--cert-dir=${directory}`,
      "--service-cluster-ip-range=10.0.0.0/24",
      "--endpoint-reconciler-type=none",
      "--authorization-mode=RBAC",
      `--token-auth-file=${tokenFile}`,
      `--service-account-issuer=${options.issuer ?? KUBE_ISSUER}`,
      ...options.flags,
    ],
  });
  let api: KubeApi | undefined;
  const stop = async (): Promise<void> => {
    await api?.close();
    await child.stop({ signal: "SIGKILL" });
    await rm(directory, { recursive: true, force: true });
  };
  const isReady = async (): Promise<boolean> => {
    const ca = await readFile(join(directory, "apiserver.crt"), "utf8").catch(() => undefined);
    if (ca === undefined) return false;
    // With the file as it is now: kube-apiserver may be writing it.
    const candidate = connectToKube({ origin: `https://127.0.0.1:${port}`, ca, adminToken });
    if (await candidate.isReady()) api = candidate;
    else await candidate.close();
    return api !== undefined;
  };
  try {
    await child.waitUntil("is ready", isReady, options.readyMs);
    await assertLoopbackOnly(child.pid, port);
  } catch (error) {
    await stop();
    throw error;
  }
  if (api === undefined) throw new Error("unreachable: it is ready");
  return { ...api, port, pid: child.pid, log: child.output, stop, [Symbol.asyncDispose]: stop };
}
