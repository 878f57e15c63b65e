import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { asNumber, asText, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable } from "../program/runnable.ts";
import type { CheckFlags } from "./run.ts";

const FLAG = { kind: "boolean", optional: true, withNegated: false } as const;

export const checkCommand: Command<CliContext> = buildCommand<CheckFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runCheck),
  parameters: {
    flags: {
      json: JSON_FLAG,
      strict: { ...FLAG, brief: "Also hold the endpoint to Signpost's own contract" },
      findings: { ...FLAG, brief: "Print only what was found, without the rules that are kept" },
      jwks: { ...FLAG, brief: "The URL is that of the key set, whatever it answers" },
      replicas: {
        kind: "parsed",
        parse: asText,
        brief: "Compare replicas: URLs, or host:port for the host of the key set, with commas",
        optional: true,
      },
      watch: { ...FLAG, brief: "Follow a rotation until Ctrl-C, and say when an announced key may sign" },
      until: {
        kind: "parsed",
        parse: asText,
        brief: "With --watch: end when this key may sign",
        optional: true,
      },
      interval: {
        kind: "parsed",
        parse: asNumber,
        brief: "With --watch: seconds between two looks, 0.1 to 3600. Default 30",
        optional: true,
      },
      timeout: {
        kind: "parsed",
        parse: asNumber,
        brief: "Seconds for each request, 0.1 to 60. Default 10",
        optional: true,
      },
      allowHttp: { ...FLAG, brief: "Use plain HTTP also for a host that is not this machine" },
    },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "URL of an issuer, a discovery document or a key set", placeholder: "url", parse: asText }],
    },
  },
  docs: {
    brief: "Check the key set of any OpenID Provider against the standards",
    fullDescription: helpText({
      description: [
        "Makes about a dozen requests for the discovery documents and the key set, and judges the answers by the clauses of",
        "the RFCs: keys, media type, ETag, HEAD, 304, 405, compression, lifetimes, discovery, redirects, TLS. It reads no",
        "configuration, sends no credentials, and changes nothing.",
        "",
        "MUST and SHOULD are those of the standards. A note breaks no rule.",
      ].join("\n"),
      examples: [
        ["signpost check https://op.example", "finds the key set by discovery, and checks both"],
        ["signpost check https://op.example/jwks --strict", "checks a key set that Signpost serves"],
        ["signpost check https://op.example --replicas 10.0.0.7:8443,10.0.0.8:8443", "also compares two replicas"],
        ["signpost check https://op.example --watch --until sig-2026-07", "waits until the new key may sign"],
        ["npx @signpost/cli check https://op.example --json", "works without an installation"],
      ],
      exitCodes: { 1: "a MUST or SHOULD is broken", 3: "no server answered" },
    }),
  },
});
