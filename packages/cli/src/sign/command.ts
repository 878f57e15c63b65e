import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { asText, CONFIG_FLAG, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost sign`. */
export interface SignFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly keyId?: string | undefined;
  readonly typ?: string | undefined;
  readonly expiresIn?: number | undefined;
}

/** Ten years, the longest lifetime that a schedule takes. */
const MAX_SECONDS = 315_360_000;

export const signCommand: Command<CliContext> = buildCommand<SignFlags, [string?], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runSign),
  parameters: {
    flags: {
      config: CONFIG_FLAG,
      keyId: {
        kind: "parsed",
        brief: "kid of the key that the URI names. Default: its thumbprint",
        parse: asText,
        optional: true,
      },
      typ: {
        kind: "parsed",
        brief: "typ in the header, such as at+jwt. Default: none",
        parse: asText,
        optional: true,
      },
      expiresIn: {
        kind: "parsed",
        brief: "Seconds until exp, if the claims have none. Default: 300",
        parse: readSeconds,
        optional: true,
      },
      json: JSON_FLAG,
    },
    positional: {
      kind: "tuple",
      parameters: [
        {
          brief: "Key URI. Default: the active key of the configuration",
          placeholder: "uri",
          parse: asText,
          optional: true,
        },
      ],
    },
  },
  docs: {
    brief: "Sign one token with the claims from stdin",
    fullDescription: helpText({
      description: [
        "Reads claims as a JSON object from stdin, and prints an ES256 token: a real one, which relying parties accept. It is",
        "signed with the key that is active in the configuration now, or with the key of the URI, and it is printed only after",
        "its signature was verified.",
        "",
        "Claims that are missing are added: iat, exp, and with a configuration iss.",
      ].join("\n"),
      examples: [
        [`echo '{"sub":"test","aud":"client-1"}' | signpost sign`, "signs as the OP of the configuration"],
        ["signpost sign local:op.pem --key-id sig-1 --typ at+jwt < claims.json", "signs an access token with one key"],
      ],
    }),
  },
});

function readSeconds(input: string): number {
  const seconds = Number(input);
  if (/^[1-9]\d{0,8}$/.test(input) && seconds <= MAX_SECONDS) return seconds;
  throw new RangeError(`expected a whole number from 1 to ${MAX_SECONDS}`);
}
