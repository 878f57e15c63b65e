/** The end of a command's `--help`: examples with a line of explanation each, then what its exit codes mean. */
export interface HelpEnd {
  readonly description: string;
  /** A command line, and what it does. */
  readonly examples: readonly (readonly [command: string, effect: string])[];
  /** What the exit codes of this command mean. Default: those that all commands share. */
  readonly exitCodes?: Readonly<Record<number, string>>;
}

const EXIT_CODES: Readonly<Record<number, string>> = {
  0: "all is well",
  2: "the command line or the configuration is wrong",
  3: "a key, a backend or a host did not do its part",
};

/** The long text of a command: what it does, examples, exit codes. */
export function helpText({ description, examples, exitCodes = {} }: HelpEnd): string {
  const codes = Object.entries({ ...EXIT_CODES, ...exitCodes }).map(([code, meaning]) => `  ${code}  ${meaning}`);
  const lines = examples.map(([command, effect]) => `  $ ${command}\n      ${effect}`);
  return [description, "", "EXAMPLES", ...lines, "", "EXIT CODES", ...codes].join("\n");
}
