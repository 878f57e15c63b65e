import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";

/** `--raw` needs what the adapter can do without. */
export function missingSdk(name: string): CliError {
  const hint = `npm install ${name}, or leave --raw out`;
  return new CliError(EXIT.usage, "sdk_missing", `${name} is not installed, and --raw needs it`, { hint });
}
