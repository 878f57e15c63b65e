import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { ADAPTERS_FLAG, asText, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost bench`. */
export interface BenchFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly concurrency?: readonly number[] | undefined;
  /** Seconds. */
  readonly duration?: number | undefined;
  readonly calls?: number | undefined;
  readonly raw?: boolean | undefined;
  readonly svg?: string | undefined;
  readonly yes?: boolean | undefined;
}

const MAX_LEVELS = 10;
const MAX_CONCURRENCY = 1000;
const MAX_SECONDS = 3600;
const MAX_CALLS = 1_000_000;

export const benchCommand: Command<CliContext> = buildCommand<BenchFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runBench),
  parameters: {
    flags: {
      concurrency: {
        kind: "parsed",
        brief: "Calls at once, one level after the other. Default: 1,4,16",
        parse: readLevels,
        optional: true,
      },
      calls: {
        kind: "parsed",
        brief: "Signatures at each level. Default: 1000 if each is billed, otherwise as many as fit",
        parse: readCalls,
        optional: true,
      },
      duration: {
        kind: "parsed",
        brief: "Seconds at each level. Default: 3 if nothing is billed, otherwise as long as it takes",
        parse: readSeconds,
        optional: true,
      },
      raw: {
        kind: "boolean",
        brief: "Measure the bare call of the SDK, the module or HTTP too, in turn",
        optional: true,
        withNegated: false,
      },
      svg: {
        kind: "parsed",
        brief: "Write a picture of the distributions into this file",
        parse: asText,
        optional: true,
      },
      yes: { kind: "boolean", brief: "Do not ask before calls that are billed", optional: true, withNegated: false },
      config: ADAPTERS_FLAG,
      json: JSON_FLAG,
    },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "Key URI", placeholder: "uri", parse: asText }],
    },
  },
  docs: {
    brief: "Measure how long signatures take, and how many a second the key makes",
    fullDescription: helpText({
      description: [
        "Signs with the key through Signpost, as a program does, and verifies each signature. Prints the median (p50), the",
        "slow ends (p90, p99, p99.9, the slowest), signatures per second and errors by code, for each number of callers at",
        "once. A caller waits for its signature before it asks for the next one.",
        "",
        "With --raw, the same calls are made without Signpost, in turn, in the same process. The difference is what Signpost",
        "adds: the guard, the checks, and the verification.",
        "",
        "What is signed is never the signing input of a token. AWS KMS, Google Cloud KMS and Azure Key Vault bill each",
        "signature: the command says how many, and asks first. Ctrl-C ends it and prints what was measured until then.",
      ].join("\n"),
      examples: [
        ["signpost bench local:op.pem", "3 seconds at each of 1, 4 and 16 calls at once"],
        [
          "signpost bench awskms:///alias/op-2026 --calls 200 --raw --yes",
          "compares with the bare SDK, without a question",
        ],
        ["signpost bench 'vault:///transit/keys/op' --concurrency 1,64 --duration 10", "10 seconds at each level"],
        ["signpost bench local: --svg latency.svg --json", "a picture in a file, and figures for programs"],
      ],
      exitCodes: { 1: "calls failed", 3: "the key cannot be opened, or no call succeeded", 130: "stopped by Ctrl-C" },
    }),
  },
});

function readLevels(input: string): readonly number[] {
  const levels = input.split(",").map((part) => (/^[1-9]\d{0,3}$/.test(part) ? Number(part) : Number.NaN));
  const isFine = levels.every((level) => level <= MAX_CONCURRENCY) && new Set(levels).size === levels.length;
  if (isFine && levels.length <= MAX_LEVELS) return levels;
  throw new RangeError(
    `expected at most ${MAX_LEVELS} different whole numbers from 1 to ${MAX_CONCURRENCY}, as in 1,4,16`,
  );
}

function readCalls(input: string): number {
  const calls = Number(input);
  if (/^[1-9]\d{0,6}$/.test(input) && calls <= MAX_CALLS) return calls;
  throw new RangeError(`expected a whole number from 1 to ${MAX_CALLS}`);
}

function readSeconds(input: string): number {
  const seconds = Number(input);
  if (/^\d{1,4}(?:\.\d{1,3})?$/.test(input) && seconds > 0 && seconds <= MAX_SECONDS) return seconds;
  throw new RangeError(`expected seconds, more than 0 and up to ${MAX_SECONDS}`);
}
