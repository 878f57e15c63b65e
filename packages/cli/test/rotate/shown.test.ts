import { describe, expect, test } from "vitest";
import type { ChangeFlags } from "../../src/rotate/flags.ts";
import { shownOn } from "../../src/rotate/change/propose.ts";
import { recordingContext } from "../support/recording-context.ts";

// Where a person sees a change: on stdout, on stderr, or nowhere.

function placeOf(flags: ChangeFlags, isTerminal: boolean): string {
  const context = recordingContext("/");
  const [output, messages] = [
    { ...context.output, isTerminal },
    { ...context.output, isTerminal },
  ];
  const shown = shownOn({ ...context, output, messages }, flags);
  return shown === undefined ? "nowhere" : shown === output ? "stdout" : "stderr";
}

describe("a change is shown", () => {
  test.each<[flags: ChangeFlags, onTerminal: string, inPipe: string]>([
    [{}, "stdout", "stderr"],
    [{ yes: true }, "stdout", "stdout"],
    [{ dryRun: true }, "stdout", "stdout"],
    [{ yes: true, dryRun: true }, "stdout", "stdout"],
    [{ json: true }, "stderr", "stderr"],
    [{ json: true, yes: true }, "nowhere", "nowhere"],
    [{ json: true, dryRun: true }, "nowhere", "nowhere"],
    [{ json: false, yes: false, dryRun: false }, "stdout", "stderr"],
  ])("with %j on %s of a terminal, and on %s in a pipe", (flags, onTerminal, inPipe) => {
    expect([placeOf(flags, true), placeOf(flags, false)]).toEqual([onTerminal, inPipe]);
  });
});
