import { readFile } from "node:fs/promises";
import { parse, parseAllDocuments } from "yaml";

export const readExample = (name: string): Promise<string> => readFile(new URL(`../${name}`, import.meta.url), "utf8");

/** The flags that kubeadm v1.37.2 gives to kube-apiserver: `kubeadm init phase control-plane apiserver --dry-run`. */
const KUBEADM_FLAGS: readonly string[] = [
  "advertise-address=192.0.2.1",
  "allow-privileged=true",
  "authorization-mode=Node,RBAC",
  "client-ca-file=/etc/kubernetes/pki/ca.crt",
  "enable-admission-plugins=NodeRestriction",
  "enable-bootstrap-token-auth=true",
  "etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt",
  "etcd-certfile=/etc/kubernetes/pki/apiserver-etcd-client.crt",
  "etcd-keyfile=/etc/kubernetes/pki/apiserver-etcd-client.key",
  "etcd-servers=https://127.0.0.1:2379",
  "kubelet-client-certificate=/etc/kubernetes/pki/apiserver-kubelet-client.crt",
  "kubelet-client-key=/etc/kubernetes/pki/apiserver-kubelet-client.key",
  "kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
  "proxy-client-cert-file=/etc/kubernetes/pki/front-proxy-client.crt",
  "proxy-client-key-file=/etc/kubernetes/pki/front-proxy-client.key",
  "requestheader-allowed-names=front-proxy-client",
  "requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt",
  "requestheader-extra-headers-prefix=X-Remote-Extra-",
  "requestheader-group-headers=X-Remote-Group",
  "requestheader-username-headers=X-Remote-User",
  "secure-port=6443",
  "service-account-issuer=https://kubernetes.default.svc.cluster.local",
  "service-account-key-file=/etc/kubernetes/pki/sa.pub",
  "service-account-signing-key-file=/etc/kubernetes/pki/sa.key",
  "service-cluster-ip-range=10.96.0.0/12",
  "tls-cert-file=/etc/kubernetes/pki/apiserver.crt",
  "tls-private-key-file=/etc/kubernetes/pki/apiserver.key",
];

export interface ClusterConfiguration {
  readonly kind: string;
  readonly apiServer: {
    readonly extraArgs: readonly { readonly name: string; readonly value: string }[];
    readonly extraVolumes: readonly { readonly hostPath: string; readonly mountPath: string }[];
  };
}

export async function clusterConfiguration(): Promise<ClusterConfiguration> {
  const documents = parseAllDocuments(await readExample("kubeadm.yaml"));
  const found = documents
    .map((document) => document.toJS() as ClusterConfiguration)
    .find(({ kind }) => kind === "ClusterConfiguration");
  if (found === undefined) throw new Error("kubeadm.yaml has no ClusterConfiguration");
  return found;
}

interface Operation {
  readonly op: "test" | "remove";
  readonly path: string;
  readonly value?: string;
}

/** The command of kube-apiserver in the manifest that kubeadm writes with the files of this example. */
export async function patchedCommand(): Promise<readonly string[]> {
  const { extraArgs } = (await clusterConfiguration()).apiServer;
  // Those of the user come last.
  const flags = [...KUBEADM_FLAGS, ...extraArgs.map(({ name, value }) => `${name}=${value}`)];
  const command = ["kube-apiserver", ...flags.map((flag) => `--${flag}`)];
  for (const operation of parse(await readExample("patches/kube-apiserver+json.yaml")) as readonly Operation[]) {
    apply(operation, command);
  }
  return command;
}

/** RFC 6902, for one list. */
function apply({ op, path, value }: Operation, command: string[]): void {
  const index = Number(/^\/spec\/containers\/0\/command\/(\d+)$/.exec(path)?.[1]);
  if (!(index < command.length)) throw new Error(`${path} is not there`);
  if (op === "remove") command.splice(index, 1);
  else if (command[index] !== value) throw new Error(`${path} is ${command[index]}, not ${value}`);
}
