import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fuzzTargets } from "../../scripts/lib/fuzz-targets.mjs";
import { ROOT } from "../../scripts/lib/repository.mjs";
import { corpusNames, hashName, readCorpus } from "./engine/corpus.ts";
import { NOT_FUZZED } from "./not-fuzzed.ts";
import { TARGETS } from "./targets/all.ts";

/** What code does that reads text or bytes from outside. */
const READS =
  /JSON\.parse\(|fromBER\(|\.exec\(|\.matchAll\(|TextDecoder\(|new X509Certificate\(|createPublicKey\(|createPrivateKey\(|readBig|readUInt|parseTree|BigInt\(|Number\.parseInt\(|Date\.parse\(|, "base64(?:url)?"\)|URLSearchParams\(|URL\.canParse\(/;

const sources = readdirSync(join(ROOT, "packages")).flatMap((name) =>
  readdirSync(join(ROOT, "packages", name, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => ({
      name: `${name}/${path}`,
      text: readFileSync(join(ROOT, "packages", name, "src", path), "utf8"),
    })),
);
const parsers = new Set(TARGETS.flatMap((target) => target.parsers));

test("each file that reads text or bytes is reached by a target, or is listed with a reason", () => {
  const readers = sources.filter(({ text }) => READS.test(text)).map(({ name }) => name);
  expect(readers.length).toBeGreaterThan(100);
  expect(readers.filter((name) => !parsers.has(name) && NOT_FUZZED[name] === undefined)).toEqual([]);
});

test("each file that a target or the list names is there, and none is in both", () => {
  const names = new Set(sources.map(({ name }) => name));
  expect([...parsers, ...Object.keys(NOT_FUZZED)].filter((name) => !names.has(name))).toEqual([]);
  expect(Object.keys(NOT_FUZZED).filter((name) => parsers.has(name))).toEqual([]);
});

test("the guide has a row for each target, with the parsers that it reaches", () => {
  const page = readFileSync(join(ROOT, "docs/fuzzing.md"), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z0-9-]+)` \| (.+) \| (.+) \|$/gm)].map(([, ...cells]) => cells);
  const expected = TARGETS.map(({ name, parsers: files, says }) => [
    name,
    files.map((file) => `\`${file}\``).join(", "),
    says,
  ]);
  expect(rows).toEqual(expected);
});

test("targets have names of their own, and kept inputs belong to targets", () => {
  const names = TARGETS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(corpusNames().filter((name) => !names.includes(name))).toEqual([]);
});

test("the command knows the name of every target before anything is installed", () => {
  expect(fuzzTargets().toSorted()).toEqual(TARGETS.map(({ name }) => name).toSorted());
});

test("a kept input is named by its hash, or by the fault that it found", () => {
  for (const name of corpusNames()) {
    for (const kept of readCorpus(name)) {
      if (!kept.name.startsWith("fault-")) expect(kept.name).toBe(hashName(kept.input));
    }
  }
  expect(existsSync(join(ROOT, "test/fuzz/corpus"))).toBe(true);
});
