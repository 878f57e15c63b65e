import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import { importPackage, isMissing } from "./import-package.ts";

/** A peer of the package, which npm 6 and `--legacy-peer-deps` leave out. */
const GRPC = "@grpc/grpc-js";

/** What this program uses of `@signpost/kubernetes`. */
export type KubernetesPackage = Pick<typeof import("@signpost/kubernetes"), "runKubernetesSigner">;

/** Loads the signer of kube-apiserver, which is installed only where it is wanted. */
export async function loadKubernetes(cwd: string): Promise<KubernetesPackage> {
  const module = await importPackage("@signpost/kubernetes", cwd, () => import("@signpost/kubernetes")).catch(
    (error: unknown) => {
      throw isMissing(error, GRPC) ? missing(GRPC, GRPC) : error;
    },
  );
  if (module !== undefined) return module as KubernetesPackage;
  throw missing("@signpost/kubernetes", `@signpost/kubernetes ${GRPC}`);
}

function missing(name: string, install: string): CliError {
  const hint = `npm install ${install}`;
  return new CliError(EXIT.usage, "package_missing", `${name} is not installed, and this command needs it`, { hint });
}
