import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const EXAMPLES = fileURLToPath(new URL("../../../examples/", import.meta.url));

/** The compiled program of an example in a separate process, with one folder for all that it writes. */
export interface ExampleProgram {
  /** What it printed until now. */
  output(): string;
  /** Resolves with the output as soon as it contains `text`; rejects when the program ends before. */
  printed(text: string): Promise<string>;
  /** Exit code or signal, once it has ended by itself or by the signal that is given. */
  ended(signal?: NodeJS.Signals): Promise<number | string>;
  /** What it left behind in its folder. */
  leftovers(): Promise<readonly string[]>;
  remove(): Promise<void>;
}

export async function startExample(
  name: string,
  { args = [], env = {} }: { readonly args?: readonly string[]; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<ExampleProgram> {
  const folder = await mkdtemp(join(tmpdir(), `signpost-e2e-${name}-`));
  const program = spawn(process.execPath, [join(EXAMPLES, name, "dist/main.js"), ...args], {
    env: { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = once(program, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  let text = "";
  for (const stream of [program.stdout, program.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  const ended: ExampleProgram["ended"] = async (signal) => {
    if (signal !== undefined) program.kill(signal);
    const [code, by] = await end;
    return by ?? code ?? "no end";
  };
  return {
    output: () => text,
    printed: async (wanted) => {
      while (!text.includes(wanted)) {
        const more = await Promise.race([once(program.stdout, "data"), end.then(() => "ended" as const)]);
        if (more === "ended" && !text.includes(wanted)) throw new Error(`${name} ended without "${wanted}":\n${text}`);
      }
      return text;
    },
    ended,
    leftovers: () => readdir(folder),
    remove: async () => {
      await ended("SIGKILL");
      await rm(folder, { recursive: true });
    },
  };
}
