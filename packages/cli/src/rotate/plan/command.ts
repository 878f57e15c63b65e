import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../../program/context.ts";
import { JSON_FLAG } from "../../program/flags.ts";
import { helpText } from "../../program/help.ts";
import { runnable, type CommonFlags } from "../../program/runnable.ts";
import { instantFlag, SOURCE_FLAG } from "../flags.ts";

/** The flags of `signpost rotate plan`. */
export interface PlanFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly at?: string | undefined;
}

export const planCommand: Command<CliContext> = buildCommand<PlanFlags, [], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runPlan),
  parameters: {
    flags: {
      config: SOURCE_FLAG,
      at: instantFlag("Show the schedule as it is at this time. Default: now"),
      json: JSON_FLAG,
    },
  },
  docs: {
    brief: "Show when each key is announced, signs, retires and is withdrawn",
    fullDescription: helpText({
      description: [
        "Draws the life of each key over a time axis, and lists the exact times below. The axis has one part for each change. A",
        "part of a year is wider than a part of an hour, but not in proportion. The lowest bar shows how long caches are told",
        "to keep the set: 5 min during a rotation, otherwise 1 h. All times are UTC.",
        "",
        "The command opens no keys and changes nothing. An entry without keyId is called by its key URI, since its kid is the",
        "thumbprint of the key. Keys that the schedule no longer needs are left out; --json has them.",
      ].join("\n"),
      examples: [
        ["signpost rotate plan", "shows the schedule of the configuration"],
        ["signpost rotate plan --at 2026-07-01T14:00:00Z", "shows it as it is at that time"],
        ["signpost rotate plan --json | jq -r .nextChange", "prints when something changes next, for an alarm"],
      ],
    }),
  },
});
