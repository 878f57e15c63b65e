import { signNames } from "../../csr/sign-names.ts";
import { loadX509 } from "../../keys/x509-package.ts";
import { CliError } from "../../program/cli-error.ts";
import type { CliContext } from "../../program/context.ts";
import { EXIT, type ExitCode } from "../../program/exit-codes.ts";
import type { SelfSignedFlags } from "./command.ts";

export async function runSelfSigned(context: CliContext, flags: SelfSignedFlags, uri: string): Promise<ExitCode> {
  const { subject = "", days: validityDays } = flags;
  if (subject === "") {
    throw new CliError(EXIT.usage, "no_name", "The certificate has no subject", {
      hint: "Write --subject CN=op.example",
    });
  }
  const { selfSigned } = await loadX509(context.cwd);
  return signNames(context, flags, uri, {
    what: "certificate",
    make: (key, options) => selfSigned(key, { ...options, validityDays }),
  });
}
