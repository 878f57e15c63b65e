import type { FaultyBackend } from "../backend.ts";
import { startKubernetesIssuer } from "../kubernetes-issuer.ts";
import { startAwsKms } from "./aws-kms.ts";

/** Keys in the fake of AWS KMS, behind the signer of kube-apiserver. The faults are those of the backend. */
export async function startKubernetes(): Promise<FaultyBackend> {
  return { ...(await startAwsKms("sdk")), startIssuer: startKubernetesIssuer };
}
