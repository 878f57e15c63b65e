import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts one of the programs in the folder next to these tests, with piped standard output. */
export function startProgram(program: string, ...args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(`../programs/${program}`, import.meta.url));
  return spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

/** Everything that it writes until it ends. */
export async function outputOf(program: ChildProcess): Promise<string> {
  let output = "";
  program.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(program, "close");
  return output;
}
