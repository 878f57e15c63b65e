import { loadKubernetes } from "../keys/kubernetes-package.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { printable } from "../terminal/printable.ts";
import type { KubernetesFlags } from "./command.ts";

/** The signer finishes its calls within ten seconds, and closes its keys. */
const CLOSING_MS = 15_000;

export async function runKubernetes(context: CliContext, { config, check }: KubernetesFlags): Promise<ExitCode> {
  const { runKubernetesSigner } = await loadKubernetes(context.cwd);
  const { signal, messages } = context;
  context.allowClosing(CLOSING_MS);
  const code = await runKubernetesSigner({ config, check, signal, log: (line) => messages.line(printable(line)) });
  return code === EXIT.ok || code === EXIT.usage ? code : EXIT.backend;
}
