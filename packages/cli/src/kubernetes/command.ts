import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { asText, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost kubernetes`. */
export interface KubernetesFlags extends CommonFlags {
  readonly config: string;
  readonly check?: boolean | undefined;
}

export const kubernetesCommand: Command<CliContext> = buildCommand<KubernetesFlags, [], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runKubernetes),
  parameters: {
    flags: {
      config: { kind: "parsed", parse: asText, brief: "Configuration of the signer, a JSON file", placeholder: "file" },
      check: {
        kind: "boolean",
        optional: true,
        withNegated: false,
        brief: "Read the configuration, open the keys that it needs now, and end",
      },
      json: { ...JSON_FLAG, brief: "Print a mistake of the command line as JSON too. The log always is JSON" },
    },
  },
  docs: {
    brief: "Sign the ServiceAccount tokens of kube-apiserver",
    fullDescription: helpText({
      description: [
        "Serves kube-apiserver over a Unix socket, which it opens with --service-account-signing-endpoint=PATH. Needs the",
        "package @signpost/kubernetes, and does what its program signpost-kubernetes does. The configuration is one of its own,",
        "with the same schedules. The log goes to stderr, a line of JSON for each event.",
        "",
        "SIGHUP loads the configuration again. If that fails, the one before stays in use. SIGTERM or Ctrl-C ends it after the",
        "calls that have begun. A second one ends it at once.",
      ].join("\n"),
      examples: [
        ["signpost kubernetes --config /etc/signpost/kubernetes.json", "serves kube-apiserver until SIGTERM"],
        ["signpost kubernetes --config kubernetes.json --check", "opens the keys, and says what is wrong"],
      ],
      exitCodes: {
        2: "the command line or the configuration is wrong, or the socket cannot be made",
        3: "a key cannot be opened",
        143: "SIGTERM ended it, after its calls were done (130: Ctrl-C)",
      },
    }),
  },
});
