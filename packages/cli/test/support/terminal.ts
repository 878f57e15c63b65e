import { spawn } from "node:child_process";
import { once } from "node:events";
import { BIN, type CliOptions } from "./run-cli.ts";

export interface TerminalResult {
  readonly code: number | null;
  /** Everything that the terminal shows, with escape sequences. */
  readonly shown: string;
}

/** What a person does at the terminal. */
export interface Typed {
  readonly question: string;
  readonly answer: string;
  /** What happens between the question and the answer. Default: nothing. */
  readonly meanwhile?: () => Promise<void>;
}

/** Runs the built program on a pseudoterminal. When a question shows, its answer is typed, one after the other. */
export async function runOnTerminal(
  args: readonly string[],
  typed: Typed | readonly Typed[],
  { cwd, env, columns = 100 }: CliOptions & { readonly columns?: number },
): Promise<TerminalResult> {
  // A terminal without a person has no size.
  const size = `stty cols ${columns} rows 30; `;
  const quoted = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(" ");
  const { NO_COLOR: _none, ...inherited } = process.env;
  const child = spawn("script", ["-qec", size + quoted, "/dev/null"], {
    cwd,
    env: { ...inherited, TERM: "xterm", NODE_NO_WARNINGS: "1", ...env },
  });
  let shown = "";
  const left = [typed].flat();
  child.stdout.on("data", (chunk) => {
    shown += String(chunk);
    const [next] = left;
    if (next === undefined || !shown.includes(next.question)) return;
    left.shift();
    void Promise.resolve(next.meanwhile?.()).then(() => child.stdin.write(next.answer));
  });
  await once(child, "close");
  return { code: child.exitCode, shown };
}
