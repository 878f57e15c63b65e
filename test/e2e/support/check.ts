import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../../packages/cli/dist/bin.js", import.meta.url));

interface Row {
  readonly rule: string;
  readonly verdict: string;
}

export interface Checked {
  readonly code: number | null;
  /** The rules that are neither `ok` nor skipped. */
  readonly verdicts: Readonly<Record<string, string>>;
}

/** Runs the built `signpost check`. */
export async function signpostCheck(...args: readonly string[]): Promise<Checked> {
  const child = spawn(process.execPath, [BIN, "check", "--json", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [stdout] = await Promise.all([text(child.stdout), once(child, "close")]);
  const { rows } = JSON.parse(stdout) as { readonly rows: readonly Row[] };
  const told = rows.filter(({ verdict }) => verdict !== "ok" && verdict !== "skipped");
  return { code: child.exitCode, verdicts: Object.fromEntries(told.map(({ rule, verdict }) => [rule, verdict])) };
}
