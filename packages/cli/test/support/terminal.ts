import { spawn } from "node:child_process";
import { once } from "node:events";
import { BIN, type CliOptions } from "./run-cli.ts";

export interface TerminalResult {
  readonly code: number | null;
  /** Everything that the terminal shows, with escape sequences. */
  readonly shown: string;
}

/** What a person types. */
export interface Typing {
  /** What is waited for. */
  readonly question: string;
  readonly answer: string;
  /** What is typed later, after a promise has resolved. */
  readonly later?: readonly [after: Promise<unknown>, answer: string];
}

/** Runs the built program on a pseudoterminal. When `question` shows, `answer` is typed. */
export async function runOnTerminal(
  args: readonly string[],
  { question, answer, later }: Typing,
  { cwd, env }: CliOptions,
): Promise<TerminalResult> {
  // A terminal without a person has no size.
  const size = "stty cols 100 rows 30; ";
  const quoted = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(" ");
  const { NO_COLOR: _none, ...inherited } = process.env;
  const child = spawn("script", ["-qec", size + quoted, "/dev/null"], {
    cwd,
    env: { ...inherited, TERM: "xterm", NODE_NO_WARNINGS: "1", ...env },
  });
  let shown = "";
  let answered = false;
  child.stdout.on("data", (chunk) => {
    shown += String(chunk);
    if (answered || !shown.includes(question)) return;
    answered = true;
    child.stdin.write(answer);
  });
  void later?.[0].then(() => child.stdin.write(later[1]));
  await once(child, "close");
  return { code: child.exitCode, shown };
}
