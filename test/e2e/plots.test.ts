import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { plotsOf as plotsOfBenchmarks } from "../bench/plots.ts";
import type { BenchReport } from "../bench/report.ts";
import { plotsOf as plotsOfFaults, recoveriesOf } from "../faults/plots.ts";
import type { KeptResult } from "../faults/report.ts";
import { inOrder } from "../faults/tables.ts";

// The plots of figures: docs/performance.md and docs/reliability.md.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const resultsIn = (folder: string): readonly unknown[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".json"))
    .toSorted()
    .map((name) => JSON.parse(read(join(folder, name))) as unknown);

const campaigns = inOrder(resultsIn("test/faults/results") as readonly KeptResult[]);
const plots = [
  ...plotsOfBenchmarks(resultsIn("test/bench/results") as readonly BenchReport[]).map((plot) => ({
    ...plot,
    file: `bench-${plot.name}.svg`,
    page: "docs/performance.md",
  })),
  ...plotsOfFaults(campaigns).map((plot) => ({
    ...plot,
    file: `faults-${plot.name}.svg`,
    page: "docs/reliability.md",
  })),
];

describe.each(plots)("docs/img/$file", ({ svg, file, page, question }) => {
  test("is drawn from the kept results, and its page shows it", () => {
    expect(read(`docs/img/${file}`)).toBe(svg);
    expect(read(page)).toContain(`![${question}](img/${file})`);
  });

  test("fills the letters of every label", () => {
    const labels = [...svg.matchAll(/<g aria-label="text"[^>]*>/g)].map(([group]) => group);
    expect(labels).not.toEqual([]);
    expect(labels.filter((group) => group.includes('fill="none"'))).toEqual([]);
  });
});

test("no plot is left of results that are gone", () => {
  const files = readdirSync(join(ROOT, "docs/img")).filter((name) => /^(?:bench|faults)-/.test(name));
  expect(files.toSorted()).toEqual(plots.map(({ file }) => file).toSorted());
});

test("every recovery in the plot is within its bound, and backends that cannot have a fault have none", () => {
  const recoveries = recoveriesOf(campaigns);
  expect(recoveries.filter(({ ms, boundMs }) => !(ms <= boundMs))).toEqual([]);
  expect(recoveries.filter(({ kind }) => kind === "process-stopped").map(({ backend }) => backend)).toEqual([
    "pkcs11-process",
  ]);
  expect(recoveries.filter(({ kind }) => kind === "rotation")).toEqual([]);
});
