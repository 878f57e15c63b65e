import { loadX509 } from "../keys/x509-package.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import type { NameFlags } from "./name-flags.ts";
import { signNames } from "./sign-names.ts";

export async function runCsr(context: CliContext, flags: NameFlags, uri: string): Promise<ExitCode> {
  const names = [flags.subject || [], flags.dns, flags.uri, flags.email, flags.ip];
  if (names.every((given) => given === undefined || given.length === 0)) {
    throw new CliError(EXIT.usage, "no_name", "The request has no name", {
      hint: "Write --subject CN=op.example, --dns op.example or --uri https://op.example",
    });
  }
  const { createCsr } = await loadX509(context.cwd);
  return signNames(context, flags, uri, { what: "request", make: createCsr });
}
