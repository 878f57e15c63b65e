import { asText } from "../program/flags.ts";
import type { CommonFlags } from "../program/runnable.ts";

/** `--config` of these commands, which also take a file with only a schedule. */
export const SOURCE_FLAG: OptionalFlag<string> = {
  kind: "parsed",
  brief: "Configuration or schedule file. Default: signpost.config.json, .mjs or .ts in this folder",
  parse: asText,
  optional: true,
};

/** An option with a value, which may be left out. */
export interface OptionalFlag<Value> {
  readonly kind: "parsed";
  readonly brief: string;
  readonly parse: (input: string) => Value;
  readonly optional: true;
}

/** An option with text. */
export function textFlag(brief: string): OptionalFlag<string> {
  return { kind: "parsed", brief, parse: asText, optional: true };
}

/** An option that is a time. Its command reads it, since the command line is read without the code that does. */
export function instantFlag(brief: string): OptionalFlag<string> {
  return textFlag(brief);
}

/** An option that is a whole number. */
export function countFlag(brief: string, max: number): OptionalFlag<number> {
  return { kind: "parsed", brief, parse: wholeNumber(max), optional: true };
}

function wholeNumber(max: number): (input: string) => number {
  return (input) => {
    const number = Number(input);
    if (/^\d{1,10}$/.test(input) && number >= 1 && number <= max) return number;
    throw new RangeError(`expected a whole number from 1 to ${max}`);
  };
}

/** An option that is given or not. */
interface SwitchFlag {
  readonly kind: "boolean";
  readonly brief: string;
  readonly optional: true;
  readonly withNegated: false;
}

/** Options of the commands that change the schedule. */
export const CHANGE_FLAGS: {
  readonly yes: SwitchFlag;
  readonly dryRun: SwitchFlag;
  readonly maxTokenLifetime: OptionalFlag<number>;
} = {
  yes: { kind: "boolean", brief: "Write without a question", optional: true, withNegated: false },
  dryRun: { kind: "boolean", brief: "Show the change, and write nothing", optional: true, withNegated: false },
  maxTokenLifetime: countFlag(
    "Makes a schedule of keys that are a list: the longest lifetime of any token in seconds",
    315_360_000,
  ),
};

/** The flags of these commands. */
export interface ChangeFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly yes?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly maxTokenLifetime?: number | undefined;
}
