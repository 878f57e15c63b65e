import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import type { Rotation } from "./inspect.ts";

/** Refuses a schedule that the program of the OP would refuse. */
export function requireSound({ mistakes }: Pick<Rotation, "mistakes">, name: string): void {
  const [first, ...others] = mistakes;
  if (first === undefined) return;
  throw new CliError(EXIT.usage, first.code, `${name}: ${first.message}`, {
    cause: first,
    hint: hintFor(others.length),
  });
}

function hintFor(others: number): string | undefined {
  if (others === 0) return undefined;
  const there = others === 1 ? "There is 1 more" : `There are ${others} more`;
  return `${there}: signpost rotate validate lists ${others === 1 ? "it" : "them"}`;
}
