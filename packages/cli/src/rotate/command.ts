import { buildRouteMap, type RouteMap } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { helpText } from "../program/help.ts";
import { announceCommand } from "./announce/command.ts";
import { emergencyCommand } from "./emergency/command.ts";
import { planCommand } from "./plan/command.ts";
import { validateCommand } from "./validate/command.ts";

export const rotateCommands: RouteMap<CliContext> = buildRouteMap<string, CliContext>({
  routes: { plan: planCommand, validate: validateCommand, announce: announceCommand, emergency: emergencyCommand },
  docs: {
    brief: "Plan, check and change when each key signs",
    fullDescription: helpText({
      description: [
        "A rotation is a schedule in the configuration: each key is announced, signs, retires until its last token has",
        "expired, and is withdrawn. Every replica reads the same schedule and its own clock.",
        "",
        "plan and validate only read. announce and emergency change the file, after they have shown the change and asked.",
        "They write JSON alone. For a configuration that is code they print what to write.",
      ].join("\n"),
      examples: [
        ["signpost rotate plan", "shows when each key signs"],
        ["signpost rotate validate --next-within 30", "fails in CI if no key begins to sign within 30 days"],
        ["signpost rotate announce --signer local:keys/next.pem", "adds a key at the earliest safe time"],
        ["signpost rotate emergency sig-2026-07 --dry-run", "says what it breaks to withdraw a key now"],
      ],
      exitCodes: { 1: "a warning, or you said no to a change" },
    }),
  },
});
