import { createColors } from "picocolors";

export type Colors = ReturnType<typeof createColors>;

/** What this package needs to know of an output stream. */
export interface TerminalLike {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/**
 * Colors for a terminal; for anything else, functions that return the text as it is. `NO_COLOR` turns colors off and
 * `FORCE_COLOR` turns them on, unless they are empty.
 */
export function colorsFor(stream: TerminalLike, env: NodeJS.ProcessEnv): Colors {
  return createColors(wantsColor(stream, env));
}

export function wantsColor(stream: TerminalLike, env: NodeJS.ProcessEnv): boolean {
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  const forced = env["FORCE_COLOR"] ?? "";
  if (forced !== "") return forced !== "0";
  return stream.isTTY === true && env["TERM"] !== "dumb";
}
