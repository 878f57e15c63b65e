import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import { importPackage } from "./import-package.ts";

/** What this program uses of `@signpost/kubernetes`. */
export type KubernetesPackage = Pick<typeof import("@signpost/kubernetes"), "runKubernetesSigner">;

/** Loads the signer of kube-apiserver, which is installed only where it is wanted. */
export async function loadKubernetes(cwd: string): Promise<KubernetesPackage> {
  const module = await importPackage("@signpost/kubernetes", cwd, () => import("@signpost/kubernetes"));
  if (module !== undefined) return module as KubernetesPackage;
  throw new CliError(
    EXIT.usage,
    "package_missing",
    "@signpost/kubernetes is not installed, and this command needs it",
    {
      hint: "npm install @signpost/kubernetes @grpc/grpc-js",
    },
  );
}
