import type { CertificateInfo, InspectedChain, SubjectAltName } from "@signpost/x509";
import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import { importPackage } from "./import-package.ts";

export type { CertificateInfo, InspectedChain, SubjectAltName };

/** What this program uses of `@signpost/x509`. */
export type X509Package = Pick<
  typeof import("@signpost/x509"),
  "createCsr" | "inspectChain" | "readCertificates" | "selfSigned"
>;

/** Loads the package for certificates, which is installed only where it is wanted. */
export async function loadX509(cwd: string): Promise<X509Package> {
  const module = await importPackage("@signpost/x509", cwd, () => import("@signpost/x509"));
  if (module !== undefined) return module as X509Package;
  throw new CliError(EXIT.usage, "package_missing", "@signpost/x509 is not installed, and certificates need it", {
    hint: "npm install @signpost/x509",
  });
}
