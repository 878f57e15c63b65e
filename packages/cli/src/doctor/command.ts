import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { asText, CONFIG_FLAG, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost doctor`. */
export interface DoctorFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly samples?: number | undefined;
}

const MAX_SAMPLES = 1000;

export const doctorCommand: Command<CliContext> = buildCommand<DoctorFlags, [string?], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runDoctor),
  parameters: {
    flags: {
      config: CONFIG_FLAG,
      samples: {
        kind: "parsed",
        brief: "Signatures to time for each key. Default: 10",
        parse: readSamples,
        optional: true,
      },
      json: JSON_FLAG,
    },
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "Key URI. Default: the keys of the configuration", placeholder: "uri", parse: asText, optional: true },
      ],
    },
  },
  docs: {
    brief: "Examine keys: can they sign, are they safe, what may surprise you",
    fullDescription: helpText({
      description: [
        "Opens each key, signs and verifies a probe, and times signatures. Compares the keys of the configuration with the",
        "key set that the OP serves, and the clock with that of the backend. Checks the certificates of the configuration.",
        "Then it asks the backend what the key can do, what these credentials may do beyond signing, and whether the",
        "backend rotates keys by itself.",
        "",
        "A probe is never the signing input of a token. The command changes nothing. It never tries a PIN that a token says",
        "would be the last try. Each signature counts as one on the bill of your cloud.",
      ].join("\n"),
      examples: [
        ["signpost doctor", "examines the keys of the configuration"],
        ["signpost doctor awskms:///alias/op-2026", "examines one key"],
        ["signpost doctor --samples 0 --json", "times no signatures, and prints JSON"],
      ],
      exitCodes: { 1: "a key has a problem or a warning", 3: "a backend did not answer" },
    }),
  },
});

function readSamples(input: string): number {
  const samples = Number(input);
  if (/^\d{1,4}$/.test(input) && samples <= MAX_SAMPLES) return samples;
  throw new RangeError(`expected a whole number from 0 to ${MAX_SAMPLES}`);
}
