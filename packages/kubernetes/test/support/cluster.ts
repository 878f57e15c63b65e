import { type Etcd, startEtcd } from "@signpost/test-backends/etcd";
import { type KubeApiserver, startKubeApiserver } from "@signpost/test-backends/kube-apiserver";
import {
  createSignerFolder,
  type Signer,
  type SignerFolder,
  type SignerSettings,
  startSigner,
} from "./signer-process.ts";

/** One control plane: kube-apiserver and its signer. */
export interface Cluster extends AsyncDisposable {
  readonly kube: KubeApiserver;
  readonly etcd: Etcd;
  readonly folder: SignerFolder;
  /** Makes the signer read its configuration again. */
  reload(): Promise<void>;
  /** Starts kube-apiserver once more, as another control plane, or the same one with other flags. */
  startKube(flags: readonly string[]): Promise<KubeApiserver>;
}

export interface ClusterOptions {
  readonly settings: (folder: SignerFolder) => SignerSettings | Promise<SignerSettings>;
  /** Starts the signer. Default: the program, which makes its socket. */
  readonly start?: (folder: SignerFolder) => Promise<Signer>;
  /** Added to the flag of the socket. */
  readonly flags?: readonly string[];
}

/** Has the ServiceAccount `app`. */
export async function startCluster({ settings, start = startSigner, flags = [] }: ClusterOptions): Promise<Cluster> {
  const ends: (() => PromiseLike<void>)[] = [];
  const end = async (): Promise<void> => {
    for (const each of ends.splice(0).toReversed()) await each();
  };
  try {
    const folder = await createSignerFolder();
    ends.push(() => folder[Symbol.asyncDispose]());
    await folder.configure(await settings(folder));
    const etcd = await startEtcd();
    ends.push(() => etcd.stop());
    const signer = await start(folder);
    ends.push(() => signer.stop());
    const startKube = async (more: readonly string[]): Promise<KubeApiserver> => {
      const kube = await startKubeApiserver({ etcd, flags: more });
      ends.push(() => kube.stop());
      return kube;
    };
    const kube = await startKube([signingEndpoint(folder), ...flags]);
    await kube.createServiceAccount();
    return { kube, etcd, folder, reload: () => signer.signal("SIGHUP"), startKube, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** The flag that names the socket of a signer. */
export function signingEndpoint({ socket }: SignerFolder): string {
  return `--service-account-signing-endpoint=${socket}`;
}
