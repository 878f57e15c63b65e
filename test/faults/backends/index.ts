import type { StartBackend } from "../backend.ts";
import { startAwsKms } from "./aws-kms.ts";
import { startAzureKeyVault } from "./azure-key-vault.ts";
import { startGcpKms } from "./gcp-kms.ts";
import { startKubernetes } from "./kubernetes.ts";
import { startLocal } from "./local.ts";
import { startOpenbaoServer } from "./openbao.ts";
import { startPkcs11 } from "./pkcs11.ts";
import { startVaultTransit } from "./vault-transit.ts";

/** The backends of a campaign, by the names of the command line. */
export const BACKENDS: Readonly<Record<string, StartBackend>> = {
  local: startLocal,
  "aws-kms": () => startAwsKms("sdk"),
  "aws-kms-https": () => startAwsKms("https"),
  "gcp-kms": () => startGcpKms("grpc"),
  "gcp-kms-rest": () => startGcpKms("rest"),
  "azure-key-vault": startAzureKeyVault,
  "vault-transit": startVaultTransit,
  openbao: startOpenbaoServer,
  pkcs11: () => startPkcs11("thread"),
  "pkcs11-process": () => startPkcs11("process"),
  kubernetes: startKubernetes,
};
