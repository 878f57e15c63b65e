import { buildChoiceParser, buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { helpText } from "../program/help.ts";
import { runnable } from "../program/runnable.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** A shell that completes our command lines. */
export type Shell = (typeof SHELLS)[number];

export const completeCommand: Command<CliContext> = buildCommand<Record<string, never>, [Shell], CliContext>({
  loader: async () => {
    const { runComplete } = await import("./run.ts");
    return runnable((context, _flags, shell: Shell) => runComplete(context, shell));
  },
  parameters: {
    flags: {},
    positional: {
      kind: "tuple",
      parameters: [
        {
          brief: "bash, zsh or fish",
          placeholder: "shell",
          parse: buildChoiceParser(SHELLS),
          proposeCompletions: (partial) => SHELLS.filter((shell) => shell.startsWith(partial)),
        },
      ],
    },
  },
  docs: {
    brief: "Print the script that completes command lines in bash, zsh or fish",
    fullDescription: helpText({
      description:
        "Prints a script for your shell. After that, the Tab key completes commands and options of signpost.",
      examples: [
        ["source <(signpost complete bash)", "in ~/.bashrc"],
        ["source <(signpost complete zsh)", "in ~/.zshrc, after compinit"],
        ["signpost complete fish | source", "in ~/.config/fish/config.fish"],
      ],
    }),
  },
});
