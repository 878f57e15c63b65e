import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../../program/context.ts";
import { JSON_FLAG } from "../../program/flags.ts";
import { helpText } from "../../program/help.ts";
import { runnable, type CommonFlags } from "../../program/runnable.ts";
import { countFlag, SOURCE_FLAG, textFlag } from "../flags.ts";

/** The flags of `signpost rotate validate`. */
export interface ValidateFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly previous?: string | undefined;
  readonly nextWithin?: number | undefined;
  readonly longestCache?: number | undefined;
  readonly longestToken?: number | undefined;
}

const MAX_HOURS = 87_840;

export const validateCommand: Command<CliContext> = buildCommand<ValidateFlags, [], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runValidate),
  parameters: {
    flags: {
      config: SOURCE_FLAG,
      previous: textFlag("The file that is in use. Warns of what the change breaks"),
      nextWithin: countFlag("Warns if no key begins to sign within this many days", 3660),
      longestCache: countFlag("How many hours a relying party may keep the set. Default: announceHours", MAX_HOURS),
      longestToken: countFlag("How many seconds a token really lives. Default: maxTokenLifetimeSeconds", 315_360_000),
      json: JSON_FLAG,
    },
  },
  docs: {
    brief: "Check a configuration or a schedule, for CI",
    fullDescription: helpText({
      description: [
        "Lists every mistake, with its JSON path and the nearest known name: everything for which the program of the OP would",
        "refuse the file. Then it warns of what a schedule allows, and relying parties may notice.",
        "",
        "announced-late   a key signs while relying parties may keep a set without it",
        "withdrawn-early  a key leaves the set before its last token has expired",
        "removed          an entry is missing whose tokens are still valid (--previous)",
        "gap              a key that is published would not be for a while (--previous)",
        "certificate      the certificates of a key end within 30 days",
        "emergency-ahead  emergencyAt is in the future, and turns the announcement rule off",
        "next-key         no next key is planned, or not within --next-within days",
        "signer-changed   a kid has another signer than before (--previous)",
        "",
        "The command opens no keys, reads no secrets and needs no backend. So it does not find two entries with the same key",
        "behind different URIs, or certificates of another key than that of the URI, which signpost jwks does.",
      ].join("\n"),
      examples: [
        ["signpost rotate validate", "checks the configuration in this folder"],
        ["signpost rotate validate --config schedule.json --json", "checks a schedule, and prints JSON"],
        ["git show main:signpost.config.json > in-use.json", "gets the file that is in use. Then:"],
        ["signpost rotate validate --previous in-use.json --next-within 30", "checks the change, before it is merged"],
      ],
      exitCodes: {
        1: "there are warnings, and no mistakes",
        2: "the file has a mistake, or the command line is wrong",
      },
    }),
  },
});
