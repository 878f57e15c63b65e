import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../../program/context.ts";
import { asText, JSON_FLAG } from "../../program/flags.ts";
import { helpText } from "../../program/help.ts";
import { runnable, type CommonFlags } from "../../program/runnable.ts";

/** The flags of `signpost cert inspect`. */
export interface InspectFlags extends CommonFlags {
  readonly trust?: string | undefined;
  readonly within?: number | undefined;
  readonly config?: string | undefined;
}

const MAX_DAYS = 3650;

export const inspectCommand: Command<CliContext> = buildCommand<InspectFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runInspect),
  parameters: {
    flags: {
      trust: {
        kind: "parsed",
        brief: "File with the certificates that you trust. Default: nothing is said about trust",
        parse: asText,
        optional: true,
      },
      within: {
        kind: "parsed",
        brief: "Warn if a certificate expires within so many days. Default: 30",
        parse: readDays,
        optional: true,
      },
      config: {
        kind: "parsed",
        brief: "Configuration file whose keys are compared. Default: none",
        parse: asText,
        optional: true,
      },
      json: JSON_FLAG,
    },
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "File, URL, URI of a key in a token, or - for stdin", placeholder: "source", parse: asText },
      ],
    },
  },
  docs: {
    brief: "Say what certificates contain, in which order, and what is wrong",
    fullDescription: helpText({
      description: [
        "Reads certificates, puts them into the order of a chain, leaf first, and says what they contain and what is wrong:",
        "dates, order, signatures, who may issue, the length of the path, key usage. The kid of the leaf's key is its",
        "thumbprint. With --config, it is compared with the keys of a configuration, which are opened and sign nothing.",
        "",
        "A source is a file or a URL with PEM, DER, or a JWK Set whose keys have x5c; or the URI of a key in a PKCS#11 token,",
        "which shows its certificates without a PIN. Without --trust, nothing is said about trust. Revocation, policies and",
        "name constraints are never checked. Needs the package @signpost/x509.",
      ].join("\n"),
      examples: [
        ["signpost cert inspect chain.pem --trust root.pem", "inspects a chain up to a root that you trust"],
        ["signpost cert inspect https://op.example/jwks", "inspects the chains that a key set publishes"],
        [
          "signpost cert inspect 'pkcs11:token=op;object=sig?module-path=/usr/lib/softhsm/libsofthsm2.so'",
          "inspects what a token holds next to a key",
        ],
        ["signpost cert inspect chain.pem --config signpost.config.json", "says whose key the leaf has"],
      ],
      exitCodes: {
        1: "a certificate or the chain has a problem or a warning",
        3: "the token or the host did not answer, or a key could not be opened",
      },
    }),
  },
});

function readDays(input: string): number {
  const days = Number(input);
  if (/^\d{1,4}$/.test(input) && days <= MAX_DAYS) return days;
  throw new RangeError(`expected a whole number from 0 to ${MAX_DAYS}`);
}
