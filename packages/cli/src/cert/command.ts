import { buildRouteMap, type RouteMap } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { helpText } from "../program/help.ts";
import { inspectCommand } from "./inspect/command.ts";

export const certCommands: RouteMap<CliContext> = buildRouteMap<string, CliContext>({
  routes: { inspect: inspectCommand },
  docs: {
    brief: "Inspect certificates in files, tokens and key sets",
    fullDescription: helpText({
      description: "Inspects the certificates of keys. signpost csr makes a request for one.",
      examples: [["signpost cert inspect chain.pem", "says what a chain contains, and what is wrong with it"]],
      exitCodes: { 1: "a certificate or the chain has a problem or a warning" },
    }),
  },
});
