import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../../program/context.ts";
import { asText, JSON_FLAG } from "../../program/flags.ts";
import { helpText } from "../../program/help.ts";
import { runnable } from "../../program/runnable.ts";
import { CHANGE_FLAGS, instantFlag, SOURCE_FLAG, textFlag, type ChangeFlags } from "../flags.ts";

/** The flags of `signpost rotate announce`. */
export interface AnnounceFlags extends ChangeFlags {
  readonly signer: string;
  readonly keyId?: string | undefined;
  readonly announcedFrom?: string | undefined;
  readonly activeFrom?: string | undefined;
}

export const announceCommand: Command<CliContext> = buildCommand<AnnounceFlags, [], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runAnnounce),
  parameters: {
    flags: {
      signer: { kind: "parsed", brief: "URI of the new key", placeholder: "uri", parse: asText },
      keyId: textFlag("kid of the new key. Default: the thumbprint"),
      announcedFrom: instantFlag("When it is published. Default: in an hour, or a day before --active-from"),
      activeFrom: instantFlag("When it begins to sign. Default: as soon as every cache has it"),
      config: SOURCE_FLAG,
      ...CHANGE_FLAGS,
      json: JSON_FLAG,
    },
  },
  docs: {
    brief: "Add a key to the schedule, which is published first and signs later",
    fullDescription: helpText({
      description: [
        "Opens the new key, signs and verifies a probe, and adds an entry to the schedule of the configuration. It opens the",
        "other keys too, because no key may be in a schedule twice. Then it shows the changed lines and the schedule before",
        "and after, and asks before it writes. Everything else in the file stays as it is, byte for byte.",
        "",
        "By default the key is announced in an hour, so that every replica can get the file before. It signs as soon as every",
        "cache has it: announceHours plus the clock skew later. With --active-from, it is announced a day before that time. A",
        "time that is too early is refused. A file that changed meanwhile is not overwritten.",
        "",
        "A configuration that is code (.mjs, .ts) is never written: the command prints the entry.",
      ].join("\n"),
      examples: [
        [
          "signpost rotate announce --signer 'awskms:///alias/op-2027?region=eu-west-1' --key-id sig-2027",
          "asks, then writes",
        ],
        ["signpost rotate announce --signer local:keys/next.pem --dry-run", "shows the change"],
        [
          "signpost rotate announce --signer local:keys/next.pem --active-from 2027-01-04T08:00:00Z --yes --json",
          "writes without a question, and prints JSON",
        ],
        [
          "signpost rotate announce --signer local:keys/next.pem --max-token-lifetime 3600",
          "also makes a schedule of keys that are a list",
        ],
      ],
      exitCodes: {
        0: "the change was written, or shown",
        1: "you said no, and nothing was written",
        2: "the command line or the file is wrong, or the file cannot be written",
        3: "a key cannot be opened, or cannot sign",
      },
    }),
  },
});
