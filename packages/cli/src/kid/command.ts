import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { ADAPTERS_FLAG, asText, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost kid`. */
export interface KidFlags extends CommonFlags {
  readonly config?: string | undefined;
}

export const kidCommand: Command<CliContext> = buildCommand<KidFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runKid),
  parameters: {
    flags: { config: ADAPTERS_FLAG, json: JSON_FLAG },
    positional: { kind: "tuple", parameters: [{ brief: "Key URI", placeholder: "uri", parse: asText }] },
  },
  docs: {
    brief: "Print the thumbprint of a key, which is its default kid",
    fullDescription: helpText({
      description: [
        "Opens the key and prints its thumbprint (RFC 7638, SHA-256, base64url). A key set uses the thumbprint as `kid`",
        "for an entry without `keyId`. The command reads the public key, and signs nothing.",
      ].join("\n"),
      examples: [
        ["signpost kid awskms:///alias/op-2026", "prints the kid on a line"],
        ["signpost kid local:keys/op.pem --json", "prints the kid and the public key as JSON"],
      ],
    }),
  },
});
