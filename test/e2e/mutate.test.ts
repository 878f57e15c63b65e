import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../scripts/lib/repository.mjs";
import { readArguments } from "../../scripts/mutate/arguments.mjs";
import { isWithin } from "../../scripts/mutate/durations.mjs";
import { isListed, outdated, readEquivalents } from "../../scripts/mutate/equivalents.mjs";
import { likelyFirst } from "../../scripts/mutate/judge.mjs";
import { mutantsIn, mutantsOf } from "../../scripts/mutate/mutants.mjs";
import { OPERATORS } from "../../scripts/mutate/operators.mjs";
import { applied, render } from "../../scripts/mutate/render.mjs";
import { sample } from "../../scripts/mutate/sample.mjs";
import { parse } from "../../scripts/mutate/syntax.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PACKAGES = readdirSync(`${ROOT}packages`);
const DURATIONS = JSON.parse(readFileSync(`${ROOT}test/durations.json`, "utf8")) as Record<string, number>;

const RANGE = { start: 0, end: 0 };
const PLAIN_MUTANT = {
  ...RANGE,
  id: 1,
  file: "file.ts",
  line: 1,
  operator: "literal",
  text: "",
  change: "",
  host: RANGE,
};

async function changesOf(source: string, operator: string): Promise<readonly string[]> {
  return (await mutantsOf("file.ts", source, [operator])).map(({ change }) => change);
}

test.each([
  ["boundary", "a < b", ["a {{< => <=}} b"]],
  ["negate", "a === b", ["a {{=== => !==}} b"]],
  ["negate", "x = !a", ["x = {{!a => a}}"]],
  ["condition", "if (a) b()", ["if ({{a => true}}) b()", "if ({{a => false}}) b()"]],
  ["condition", "while (a) b()", ["while ({{a => false}}) b()"]],
  ["operand", "x = a && b", ["x = {{a && b => a}}", "x = {{a && b => b}}"]],
  ["operand", "x = a ?? b", ["x = {{a ?? b => a}}", "x = {{a ?? b => b}}"]],
  ["arithmetic", "x = a * 2", ["x = a {{* => /}} 2"]],
  ["arithmetic", "x = a + 'text'", []],
  ["arithmetic", "n += 1", ["n {{+= => -=}} 1"]],
  ["arithmetic", "n++", ["{{n++ => n--}}"]],
  ["statement", "close();", ["{{close(); => ;}}"]],
  ["statement", "'use strict';", []],
  ["statement", "if (a) throw b;", ["if (a) {{throw b; => ;}}"]],
  ["cleanup", "try { a() } finally { b() }", ["try { a() } finally { {{b() => }} }"]],
  ["cleanup", "try { a() } catch { b() }", ["try { a() } catch { {{b() => }} }"]],
  ["await", "async () => { await a }", ["async () => { {{await a => a}} }"]],
  ["return", "() => { return a }", ["() => { return {{a => undefined}} }"]],
  ["return", "() => a", ["() => {{a => undefined}}"]],
  ["optional", "a?.b", ["a{{?. => .}}b"]],
  ["optional", "a?.[0]?.()", ["a?.[0]{{?. => }}()", "a{{?. => }}[0]?.()"]],
  ["method", "a.some(b)", ["a.{{some => every}}(b)"]],
  ["method", "a.trim()", ["{{a.trim() => a}}"]],
  ["method", "Object.freeze(a)", ["{{Object.freeze(a) => a}}"]],
  ["empty", "x = [a]", ["x = {{[a] => []}}"]],
  ["empty", "x = { a }", ["x = {{{ a } => {}}}"]],
  ["empty", "const { a } = b", []],
  ["literal", "x = 5", ["x = {{5 => 6}}", "x = {{5 => 4}}"]],
  ["literal", "x = true", ["x = {{true => false}}"]],
  ["literal", "x = 'word'", ["x = {{'word' => \"\"}}"]],
  ["literal", "x = 'words of a message'", []],
  ["literal", "x = /^a$/u", ["x = {{/^a$/u => /a$/u}}", "x = {{/^a$/u => /^a/u}}"]],
  ["literal", "import a from 'module'", []],
  ["literal", "x = { 'key': a }", []],
  ["literal", "let x: 5 | 'word'", []],
  ["literal", "assertOptions('details', details, { cause: true })", []],
  ["literal", "const NAMES: OptionNames<Options> = { signal: true }", []],
])("the operator %s changes %s", async (operator, source, expected) => {
  expect((await changesOf(source, operator)).toSorted()).toEqual(expected.toSorted());
});

test("every operator has a row in the test above", () => {
  expect(OPERATORS.toSorted()).toEqual(
    [
      "arithmetic",
      "await",
      "boundary",
      "cleanup",
      "condition",
      "empty",
      "literal",
      "method",
      "negate",
      "operand",
      "optional",
      "return",
      "statement",
    ].toSorted(),
  );
});

/** Every place where a choice between two expressions is not the same as the expression. */
const PROGRAM = `
const log = [];
const object = { n: 3, name: " A ", self() { return this === object; }, list: [1, 2, 3] };
const missing = undefined;
function early(n) { if (n < 2) log.push("small"); else log.push("large"); return n; }
function steps(list) {
  let sum = 0;
  let rounds = 0;
  for (const each of list) { if (each === 2) continue; sum += each; }
  for (let i = 0; i < list.length; i++) { if (rounds++ > 99) throw new RangeError(); if (i > 1) break; sum = sum * 2; }
  return sum;
}
function guarded(fail) {
  try { if (fail) throw new Error("e"); log.push("tried"); } catch { log.push("caught"); } finally { log.push("done"); }
}
class Base { constructor() { this.base = true; } }
class Derived extends Base { #hidden = 1; constructor() { super(); this.value = this.#hidden + 1; } }
const { n = 7, absent = 8 } = object;
object.list[object.n - 3] = 9;
const removed = { a: { b: 1 } };
delete removed.a?.b;
const pick = (x = 4) => ({ x, sum: x + 1 });
guarded(true); guarded(false);
log.push(object.self?.() === true, missing?.deep.list.slice(1).length, object.list.slice(1)[0], object.name.trim().length);
log.push(early(1), early(5), steps([1, 2, 3]), new Derived().value, pick().sum, n, absent, Object.keys(removed.a));
log.push(object.list.some((x) => x > 2) && (missing ?? "other"), !missing, -object.n, typeof object.n === "number");
log.push(\`\${object.n}.\${n}\`, /^a$/.test("xa"), (object.n, 2), [...object.list].toReversed());
return JSON.stringify(log);
`;

/** What a program returns, or the name of what it throws. */
function outcome(program: string, ask: (id: number) => boolean = () => false): string {
  try {
    return String(runInNewContext(`(() => {${program}})()`, { __signpostMutant: ask }));
  } catch (error) {
    return String(Object(error).name);
  }
}

test("a source with all mutants planted does what the source with only the active one does", async () => {
  const body = `function run() {${PROGRAM}}`;
  const mutants = (await mutantsOf("file.ts", body)).map((mutant, index) => ({ ...mutant, id: index + 1 }));
  expect(mutants.length).toBeGreaterThan(150);
  const planted = render(body, mutants, "/unused").split("\nfunction __signpostMutant")[0] ?? "";
  const inside = (text: string): string => text.slice("function run() {".length, text.lastIndexOf("}"));
  expect(outcome(inside(planted))).toBe(outcome(PROGRAM));
  for (const mutant of mutants) {
    const alone = outcome(inside(applied(body, mutant)));
    expect(`${mutant.change}: ${outcome(inside(planted), (id) => id === mutant.id)}`).toBe(
      `${mutant.change}: ${alone}`,
    );
  }
});

test("a program that may not write down what it reaches does the same", async () => {
  const folder = mkdtempSync(join(scratchFolder("mutate-render"), "run-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const state = join(folder, "state.json");
  writeFileSync(state, JSON.stringify({ active: null, record: "a.test.ts" }));
  mkdirSync(`${state}.hits`);
  const mutants = (await mutantsOf("file.ts", "const isAbove = 2 > 1;")).map((mutant) => ({ ...mutant, id: 1 }));
  const typed = render("const isAbove = 2 > 1;", mutants.slice(0, 1), state);
  const program = typed.replace("(_:number)", "(_)").replace(" as any", "");
  expect(runInNewContext(`(() => {${program};return isAbove;})()`, { process })).toBe(true);
});

test("a program writes down what it reaches as soon as it may, and once", async () => {
  const folder = mkdtempSync(join(scratchFolder("mutate-render"), "run-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const state = join(folder, "state.json");
  writeFileSync(state, JSON.stringify({ active: null, record: "a.test.ts" }));
  const source = "const isAbove = () => 2 > 1;";
  const mutants = (await mutantsOf("file.ts", source)).map((mutant) => ({ ...mutant, id: 7 }));
  const program = render(source, mutants.slice(0, 1), state).replace("(_:number)", "(_)").replace(" as any", "");
  // It may not while something else is in the place.
  mkdirSync(`${state}.hits`);
  const isAbove: () => boolean = runInNewContext(`(() => {${program};return isAbove;})()`, { process });
  isAbove();
  rmSync(`${state}.hits`, { recursive: true });
  isAbove();
  isAbove();
  expect(readFileSync(`${state}.hits`, "utf8")).toBe("a.test.ts\t7\n");
});

test.each(PACKAGES)("all mutants of %s can be planted at once", async (name) => {
  const mutants = (await mutantsIn(ROOT, `packages/${name}/src`)).map((mutant, index) => ({
    ...mutant,
    id: index + 1,
  }));
  expect(mutants.length).toBeGreaterThan(20);
  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    const source = readFileSync(`${ROOT}${file}`, "utf8");
    const inFile = mutants.filter((mutant) => mutant.file === file);
    await expect(parse(render(source, inFile, "/unused"))).resolves.toHaveProperty("type", "Program");
    expect(inFile.filter(({ host, start, end }) => start < host.start || host.end < end)).toEqual([]);
  }
});

test("the same seed chooses the same mutants, and another seed chooses others", () => {
  const items = Array.from({ length: 1000 }, (_, index) => index);
  expect(sample(items, 40, 7)).toEqual(sample(items, 40, 7));
  expect(sample(items, 40, 7)).not.toEqual(sample(items, 40, 8));
  expect(new Set(sample(items, 40, 7)).size).toBe(40);
  expect(sample(items, 2000, 7).toSorted((a, b) => a - b)).toEqual(items);
});

test("the tests that killed other mutants of a source run first, then those that are named like it, then the short ones", () => {
  const mutant = { ...PLAIN_MUTANT, file: "packages/core/src/signer/guard.ts" };
  const files = ["long", "short", "signer/guard", "killer"].map((name) => `packages/core/test/${name}.test.ts`);
  const baseline = {
    durations: new Map(files.map((file) => [file, file.includes("short") ? 500 : 1000])),
    failed: [],
    reached: new Map([[1, files]]),
  };
  const kills = Array.from({ length: 4 }, () => ({
    mutant,
    end: "killed" as const,
    by: `${files[3]}: a test`,
    files: 1,
  }));
  const order = likelyFirst(mutant, baseline, kills).map((file) => file.split("/test/")[1]);
  expect(order).toEqual(["killer.test.ts", "signer/guard.test.ts", "short.test.ts", "long.test.ts"]);
});

test("every listed equivalent mutant still fits its source, and says why no test can notice it", async () => {
  const mutants = await Promise.all(PACKAGES.map((name) => mutantsIn(ROOT, `packages/${name}/src`)));
  const listed = readEquivalents();
  expect(outdated(listed, mutants.flat())).toEqual([]);
  expect(mutants.flat().filter(isListed(listed))).toHaveLength(listed.length);
  for (const { reason } of listed) expect(reason.length).toBeGreaterThan(20);
});

test("an equivalent mutant whose source has changed is outdated", async () => {
  const entry = { file: "file.ts", change: "a {{< => <=}} b", reason: "a and b are never equal" };
  const fitting = await mutantsOf("file.ts", "a < b");
  expect(fitting.filter(isListed([entry]))).toHaveLength(1);
  expect(outdated([entry], fitting)).toEqual([]);
  expect(outdated([entry], await mutantsOf("file.ts", "a < c"))).toEqual([entry]);
});

test.each([
  [[], "Name one package"],
  [["core", "verify"], "Name one package"],
  [["nowhere"], "There is no packages/nowhere/src"],
  [["core", "--sample", "many"], "--sample must be a whole number: many"],
  [["core", "--minutes", "1.5"], "--minutes must be a whole number: 1.5"],
  [["core", "--longest", "soon"], "--longest must be a whole number: soon"],
  [["core", "--operators", "boundary,unknown"], "Unknown operator: unknown"],
  [["core", "--unknown"], "--unknown"],
])("arguments %j are refused", (args, problem) => {
  expect(readArguments(args)).toHaveProperty("problem", expect.stringContaining(problem));
});

test("a package can be named with its folder", () => {
  expect(readArguments(["packages/core/"])).toMatchObject({
    name: "core",
    sample: 40,
    seed: 1,
    longest: Infinity,
    minutes: Infinity,
  });
});

test("a test file is left out if it takes longer than it may, and one without a duration is short", () => {
  const path = "packages/gcp-kms/test/secrets.test.ts";
  const seconds = DURATIONS[path] ?? 0;
  expect(seconds).toBeGreaterThan(2);
  expect(isWithin(seconds, path)).toBe(true);
  expect(isWithin(seconds - 1, path)).toBe(false);
  expect(isWithin(0, "packages/gcp-kms/test/uri.test.ts")).toBe(true);
});
