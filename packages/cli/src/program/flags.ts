import { numberParser } from "@stricli/core";

/** `--json`, as each command declares it. */
export const JSON_FLAG = {
  kind: "boolean",
  brief: "Print JSON for programs, instead of text for people",
  optional: true,
  withNegated: false,
} as const;

/** `--config`, for the commands that read a configuration. */
export const CONFIG_FLAG = {
  kind: "parsed",
  brief: "Configuration file. Default: signpost.config.json, .mjs or .ts in this folder",
  parse: (input: string): string => input,
  optional: true,
} as const;

/** `--config` of the commands for one key. Without it they read no configuration, which may be code. */
export const ADAPTERS_FLAG = {
  kind: "parsed",
  brief: "Configuration file with options of the adapters. Default: none",
  parse: (input: string): string => input,
  optional: true,
} as const;

/** Reads a number. An empty text is none, such as that of a variable that is not set, though JavaScript takes it for 0. */
export function asNumber(input: string): number {
  if (input.trim() === "") throw new SyntaxError("Expected a number, got an empty text");
  return numberParser(input);
}

/** Takes an argument as it is. */
export function asText(input: string): string {
  return input;
}
