import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../../examples/demo/dist/main.js", import.meta.url));

/** The compiled demo in a process of its own, which has nothing but a home folder and a folder for temporary files. */
export interface Demo {
  /** What it printed until now. */
  output(): string;
  /** Resolves with the output as soon as it contains `text`; rejects when the demo ends before. */
  printed(text: string): Promise<string>;
  /** Exit code or signal, once it has ended by itself or by the signal that is given. */
  ended(signal?: NodeJS.Signals): Promise<number | string>;
  /** What it left behind in its folder. */
  leftovers(): Promise<readonly string[]>;
  remove(): Promise<void>;
}

export async function startDemo(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Demo> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-e2e-demo-"));
  const demo = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = once(demo, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  let text = "";
  for (const stream of [demo.stdout, demo.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  const ended: Demo["ended"] = async (signal) => {
    if (signal !== undefined) demo.kill(signal);
    const [code, by] = await end;
    return by ?? code ?? "no end";
  };
  return {
    output: () => text,
    printed: async (wanted) => {
      while (!text.includes(wanted)) {
        const more = await Promise.race([once(demo.stdout, "data"), end.then(() => "ended" as const)]);
        if (more === "ended" && !text.includes(wanted)) throw new Error(`the demo ended without "${wanted}":\n${text}`);
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

export interface Section {
  readonly title: string;
  readonly text: string;
}

/** The numbered steps that the demo tells. */
export function sectionsOf(output: string): readonly Section[] {
  return output
    .split(/^(?=\d+\. )/m)
    .slice(1)
    .map((part) => {
      const [title = "", ...lines] = part.split("\n");
      return { title, text: lines.join("\n") };
    });
}
