import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../../program/context.ts";
import { asText, JSON_FLAG } from "../../program/flags.ts";
import { helpText } from "../../program/help.ts";
import { runnable } from "../../program/runnable.ts";
import { CHANGE_FLAGS, SOURCE_FLAG, textFlag, type ChangeFlags } from "../flags.ts";

/** The flags of `signpost rotate emergency`. */
export interface EmergencyFlags extends ChangeFlags {
  readonly signer?: string | undefined;
  readonly keyId?: string | undefined;
}

export const emergencyCommand: Command<CliContext> = buildCommand<EmergencyFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runEmergency),
  parameters: {
    flags: {
      signer: textFlag("URI of a new key that signs in its place. Default: the next key of the schedule"),
      keyId: textFlag("kid of that key. Default: the thumbprint"),
      config: SOURCE_FLAG,
      ...CHANGE_FLAGS,
      json: JSON_FLAG,
    },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "kid of the key that must no longer be trusted", placeholder: "kid", parse: asText }],
    },
  },
  docs: {
    brief: "Withdraw a key now, and say what that breaks",
    fullDescription: helpText({
      description: [
        "For the day when a key was stolen, or may have been. Removes the key from the schedule at once: it is no longer",
        "published, and this OP refuses its tokens. If the key signs now, the next key of the schedule takes its place, or with",
        "--signer a new key, which must not be in the schedule under another URI. The key that signs next is opened first, and",
        "signs and verifies a probe. If no other key can sign, nothing is changed. The backend of the withdrawn key may be away.",
        "",
        "The command says which tokens die, who may still trust the key and until when, and which relying parties may refuse",
        "tokens of the next key. Then it shows the changed lines and the schedule before and after, and asks before it writes.",
        "Every replica needs the file that it writes: do not run it on each. docs/emergency.md has the whole runbook.",
      ].join("\n"),
      examples: [
        ["signpost rotate emergency sig-2026-07 --dry-run", "says what it breaks, and changes nothing"],
        ["signpost rotate emergency sig-2026-07", "asks, then writes"],
        [
          "signpost rotate emergency sig-2026-07 --signer 'awskms:///alias/op-spare?region=eu-west-1' --key-id sig-spare",
          "a new key signs in its place",
        ],
      ],
      exitCodes: {
        0: "the change was written, or shown",
        1: "you said no, and nothing was written",
        2: "the command line or the file is wrong, no other key can sign, or the file cannot be written",
        3: "the key that would sign next cannot be opened, or cannot sign",
      },
    }),
  },
});
