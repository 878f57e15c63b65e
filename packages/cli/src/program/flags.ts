/** `--json`, as each command declares it. */
export const JSON_FLAG = {
  kind: "boolean",
  brief: "Print JSON for programs, instead of text for people",
  optional: true,
  withNegated: false,
} as const;

/** Takes an argument as it is. */
export function asText(input: string): string {
  return input;
}
