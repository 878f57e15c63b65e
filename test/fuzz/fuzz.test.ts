import { afterAll, expect, test } from "vitest";
import { keepInput, readCorpus } from "./engine/corpus.ts";
import { startCoverage } from "./engine/coverage.ts";
import { runTarget, tryInput } from "./engine/run-target.ts";
import { chooseTargets, readFuzzSettings } from "./engine/settings.ts";
import { TARGETS } from "./targets/all.ts";

const { targets, seed, cases, minutes, input, grows } = readFuzzSettings();
const chosen = chooseTargets(TARGETS, targets);
const limitMs = minutes === undefined ? undefined : (minutes * 60_000) / chosen.length;
const coverage = grows ? startCoverage() : undefined;

afterAll(() => coverage?.stop());

test.each(chosen.map((target) => [target.name, target] as const))(
  "%s",
  { timeout: (limitMs ?? 0) + 600_000 },
  async (name, target) => {
    if (input !== undefined) {
      await tryInput(target, seed, input);
      return;
    }
    const end = limitMs === undefined ? undefined : performance.now() + limitMs;
    const wanted = Math.ceil(cases * (target.share ?? 1));
    const report = await runTarget(target, {
      seed,
      cases: wanted,
      corpus: readCorpus(name).map((kept) => kept.input),
      ...(end !== undefined && { isOver: () => performance.now() > end }),
      ...(coverage !== undefined && { reachedNew: coverage.reachedNew, onNew: (found) => keepInput(name, found) }),
    });
    // A target whose inputs all end in the same way tests nothing.
    expect(report.outcomes).toBeGreaterThan(1);
    if (end === undefined) expect(report.cases).toBeGreaterThanOrEqual(wanted);
  },
);
