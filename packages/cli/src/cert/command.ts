import { buildRouteMap, type RouteMap } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { helpText } from "../program/help.ts";
import { inspectCommand } from "./inspect/command.ts";
import { selfSignedCommand } from "./self-signed/command.ts";

export const certCommands: RouteMap<CliContext> = buildRouteMap<string, CliContext>({
  routes: { inspect: inspectCommand, "self-signed": selfSignedCommand },
  docs: {
    brief: "Inspect certificates, or make one that a key signs for itself",
    fullDescription: helpText({
      description: "Inspects the certificates of keys. signpost csr makes a request for one.",
      examples: [
        ["signpost cert inspect chain.pem", "says what a chain contains, and what is wrong with it"],
        ["signpost cert self-signed local:op.pem --subject CN=op.example", "prints a certificate for development"],
      ],
      exitCodes: { 1: "a certificate or the chain has a problem or a warning" },
    }),
  },
});
