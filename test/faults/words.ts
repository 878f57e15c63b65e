import type { EpisodeResult } from "./campaign.ts";
import type { Kind } from "./kinds.ts";
import type { KeptResult } from "./report.ts";

// What the tables and the plot of docs/reliability.md have in common.

/** How the page calls a backend. */
export const BACKEND_NAMES: Readonly<Record<string, string>> = {
  local: "local",
  "aws-kms": "AWS KMS, SDK",
  "aws-kms-https": "AWS KMS, HTTPS",
  "gcp-kms": "Google, gRPC",
  "gcp-kms-rest": "Google, REST",
  "azure-key-vault": "Azure",
  "vault-transit": "Vault",
  openbao: "OpenBao",
  pkcs11: "PKCS#11, threads",
  "pkcs11-process": "PKCS#11, process",
  kubernetes: "kube-apiserver's signer",
};

export function nameOf(backend: string): string {
  return BACKEND_NAMES[backend] ?? backend;
}

/** A time with its unit. */
export function seconds(ms: number): string {
  return ms < 950 ? `${Math.round(ms / 10) * 10} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function ofKind({ episodes }: KeptResult, kind: Kind): readonly EpisodeResult[] {
  return episodes.filter((episode) => episode.kind === kind);
}
