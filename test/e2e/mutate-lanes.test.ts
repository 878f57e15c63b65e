import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scratchFolder } from "../../scripts/lib/repository.mjs";
import { Lane } from "../../scripts/mutate/lane.mjs";
import { measure } from "../../scripts/mutate/measure.mjs";
import { mutantsIn } from "../../scripts/mutate/mutants.mjs";
import { describe, reportOf, scoreOf } from "../../scripts/mutate/report.mjs";

/** A project with a well tested function, an untested one, and one that a test calls without looking. */
const FILES = {
  "vitest.config.ts": "export default { test: {} };\n",
  "src/limit.ts": `export function isAbove(n: number): boolean {
  return n > 10;
}
`,
  "src/loop.ts": `export function halvings(n: number): number {
  let steps = 0;
  for (let rest = n; rest > 1; rest -= 1) steps += 1;
  return steps;
}
`,
  "src/quiet.ts": `export function noteOf(n: number): string {
  return n > 10 ? "many" : "few";
}
`,
  "src/unused.ts": `export function unused(n: number): boolean {
  return n > 10;
}
`,
  "test/limit.test.ts": `import { expect, test } from "vitest";
import { isAbove } from "../src/limit.ts";
test("the limit is not above itself", () => { expect([isAbove(10), isAbove(11)]).toEqual([false, true]); });
`,
  "test/loop.test.ts": `import { expect, test } from "vitest";
import { halvings } from "../src/loop.ts";
import { noteOf } from "../src/quiet.ts";
test("counts", () => { noteOf(50); expect(halvings(4)).toBe(3); });
`,
  "src/crowd.ts": `export function isCrowd(n: number): boolean {
  return n > 2;
}
`,
  "test/crowd.test.ts": `import { expect, test } from "vitest";
import { isCrowd } from "../src/crowd.ts";
test.concurrent.each([1, 2])("two are no crowd, as %i says", async () => { expect(isCrowd(2)).toBe(false); });
test.concurrent("takes its time", () => new Promise((resolve) => setTimeout(resolve, 1000)));
`,
  "test/broken.test.ts": `import { expect, test } from "vitest";
test("fails always", () => { expect(1).toBe(2); });
`,
};

let folder = "";
let lanes: readonly Lane[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(scratchFolder("mutate-lanes"), "run-"));
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(join(folder, "project", name, ".."), { recursive: true });
    writeFileSync(join(folder, "project", name), text);
  }
  lanes = ["0", "1"].map((name) => {
    cpSync(join(folder, "project"), join(folder, name), { recursive: true });
    return new Lane(join(folder, name), {});
  });
});
afterAll(async () => {
  await Promise.all(lanes.map((lane) => lane.close()));
  rmSync(folder, { recursive: true, force: true });
});

test("mutants are killed, survive, never end, or are not reached", async () => {
  const all = await mutantsIn(join(folder, "project"), "src", { operators: ["boundary", "arithmetic"] });
  const mutants = all.filter(({ change }) => !change.includes("steps {{"));
  const seen: string[] = [];
  const { verdicts, left, failed, seconds } = await measure({
    lanes,
    mutants,
    tests: ["test/limit.test.ts", "test/loop.test.ts", "test/crowd.test.ts", "test/broken.test.ts"],
    bundle: () => Promise.resolve(),
    onVerdict: ({ mutant }) => seen.push(mutant.file),
    limitOf: () => 4000,
  });
  expect(verdicts.map(({ mutant, end }) => `${mutant.file} ${mutant.operator} ${end}`).toSorted()).toEqual([
    "src/crowd.ts boundary killed",
    "src/limit.ts boundary killed",
    "src/loop.ts arithmetic late",
    "src/loop.ts boundary killed",
    "src/quiet.ts boundary survived",
    "src/unused.ts boundary unreached",
  ]);
  expect(seen).toHaveLength(6);
  expect(failed).toEqual([{ file: "test/broken.test.ts", failure: "fails always" }]);
  expect(verdicts.find(({ mutant }) => mutant.file === "src/limit.ts")?.by).toBe(
    "test/limit.test.ts: the limit is not above itself",
  );
  expect(scoreOf(verdicts)).toBe(66.6);

  const run = { name: "project", seed: 1, candidates: all.length, verdicts, left, failed, seconds };
  expect(left).toBe(0);
  const lines = describe(run, join(folder, "project"));
  expect(lines).toContain("src/quiet.ts:2 (boundary; 1 test files passed)");
  expect(lines).toContain('  +   return n >= 10 ? "many" : "few";');
  const report = reportOf(run);
  expect(report.survivors.map(({ change }) => change)).toEqual([
    'return n {{> => >=}} 10 ? "many" : "few";',
    "return n {{> => >=}} 10;",
  ]);
  expect(JSON.parse(JSON.stringify(report))).toEqual(report);
}, 180_000);

test("no mutant begins after the end, and the report says how many did not run", async () => {
  for (const lane of lanes) cpSync(join(folder, "project"), lane.folder, { recursive: true });
  const all = await mutantsIn(join(folder, "project"), "src", { operators: ["boundary"] });
  const measured = await measure({
    lanes,
    mutants: all.slice(0, 1),
    tests: ["test/limit.test.ts"],
    bundle: () => Promise.resolve(),
    onVerdict: () => undefined,
    endMs: 0,
  });
  expect(measured).toMatchObject({ verdicts: [], left: 1, failed: [] });
  const run = { name: "project", seed: 1, candidates: all.length, ...measured };
  expect(describe(run, join(folder, "project")).at(-1)).toMatch(/ in \d+ s; 1 did not run$/);
  expect(reportOf(run)).toMatchObject({ left: 1, survivors: [], kills: [] });
}, 180_000);

test("a lane leaves the sources of the clone alone", () => {
  expect(readFileSync(join(folder, "project/src/limit.ts"), "utf8")).toBe(FILES["src/limit.ts"]);
});
