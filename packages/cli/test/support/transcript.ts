import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { runCli, type CliOptions, type CliResult } from "./run-cli.ts";

export interface TranscriptOptions extends CliOptions {
  /** What differs from run to run, and what stands for it. Each has the same length, so that columns stay aligned. */
  readonly replaced?: Readonly<Record<string, string>>;
  /** The same with patterns. */
  readonly patterns?: readonly (readonly [RegExp, string])[];
  /** The command prints messages before its result. */
  readonly messagesFirst?: boolean;
  /** The command line as a person types it. Default: the arguments. */
  readonly shown?: string;
}

/**
 * Runs a command with colors, as on a terminal, and compares what it prints with `test/transcripts/NAME.ansi`. The pictures
 * of the guide are drawn from these files.
 */
export async function expectTranscript(
  name: string,
  args: readonly string[],
  { replaced = {}, patterns = [], messagesFirst = false, shown, ...options }: TranscriptOptions,
): Promise<CliResult> {
  const env = { FORCE_COLOR: "1", ...options.env };
  const result = await runCli(args, { ...options, env });
  const text = [...Object.entries(replaced), ...patterns].reduce(
    (printed, [from, to]) => printed.replaceAll(from, to),
    // On a terminal both streams show.
    messagesFirst ? result.stderr + result.stdout : result.stdout + result.stderr,
  );
  const file = fileURLToPath(new URL(`../transcripts/${name}.ansi`, import.meta.url));
  await expect(`$ ${shown ?? `signpost ${args.join(" ")}`}\n${text}`).toMatchFileSnapshot(file);
  return result;
}
