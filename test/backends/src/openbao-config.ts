import { join } from "node:path";
import type { OpenbaoCertificates } from "./openbao.ts";

export interface OpenbaoSettings {
  readonly storage: "memory" | "raft";
  readonly directory: string;
  readonly port: number;
  readonly clusterPort: number;
  readonly address: string;
  /** The id of the token that the server makes at its first start, with `raft`. */
  readonly token: string;
  readonly certificates: OpenbaoCertificates | undefined;
}

/** The configuration of a server with one node. */
export function openbaoConfig(settings: OpenbaoSettings): string {
  const { storage, port, clusterPort, address } = settings;
  return `
disable_mlock = true
api_addr = "${address}"
cluster_addr = "http://127.0.0.1:${clusterPort}"
listener "tcp" {
  address = "127.0.0.1:${port}"
  cluster_address = "127.0.0.1:${clusterPort}"
${tlsLines(settings)}
}
${storage === "memory" ? 'storage "inmem" {}' : raftBlocks(settings)}
`;
}

function tlsLines({ certificates }: OpenbaoSettings): string {
  if (certificates === undefined) return "  tls_disable = true";
  const { cert, key, clientCa } = certificates.serverFiles;
  return `  tls_cert_file = "${cert}"
  tls_key_file = "${key}"
  tls_client_ca_file = "${clientCa}"
  tls_require_and_verify_client_cert = true`;
}

/** Unseals itself at each start, and initializes itself at the first. */
function raftBlocks({ directory, token }: OpenbaoSettings): string {
  const everything = `path "*" { capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo"] }`;
  return `
storage "raft" {
  path = "${join(directory, "raft")}"
  node_id = "node-1"
  performance_multiplier = 1
}
seal "static" {
  current_key_id = "key-1"
  current_key = "file://${join(directory, "seal.key")}"
}
initialize "tests" {
  request "policy" {
    operation = "update"
    path = "sys/policies/acl/everything"
    data = { policy = ${JSON.stringify(everything)} }
  }
  request "token" {
    operation = "update"
    path = "auth/token/create"
    data = { id = "${token}", policies = ["everything"], no_parent = true, period = "24h" }
  }
  request "mount" {
    operation = "update"
    path = "sys/mounts/transit"
    data = { type = "transit" }
  }
}`;
}
