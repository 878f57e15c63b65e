import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CONTRACT_RULES } from "../../src/check/rules/contract.ts";
import { RULES } from "../../src/check/rules/all.ts";
import { judgeReplicas } from "../../src/check/rules/replicas.ts";
import { exchangeOf, JWKS_URI, op } from "./support/op.ts";

const guide = readFileSync(new URL("../../../../docs/cli-check.md", import.meta.url), "utf8");
const rows = [...guide.matchAll(/^\| `([a-z0-9-]+)` \| (.+?) \| /gm)].map(([, rule = "", clause = ""]) => [
  rule,
  clause,
]);
const replicas = ["a", "b"].map((name) => ({
  name,
  exchange: exchangeOf(op(), { method: "GET", url: JWKS_URI, headers: {} }),
}));

test("the guide has every rule with its clause, in the order of the report", () => {
  const documented = [
    ...RULES.map(({ id, clause }) => [id, clause]),
    ...judgeReplicas(replicas).map(({ rule, clause }) => [rule, clause]),
  ];
  expect(rows.filter(([rule]) => !rule?.startsWith("signpost-"))).toEqual(documented);
});

test("the guide has every rule of Signpost's own contract", () => {
  const names = [...guide.matchAll(/^\| `(signpost-[a-z0-9-]+)` \|/gm)].map(([, rule]) => rule);
  expect(names).toEqual(CONTRACT_RULES.map(({ id }) => id));
});

test("of what can be installed, the check loads only core and the table", () => {
  const dist = new URL("../../dist/", import.meta.url);
  const loaded = new Set<string>();
  const follow = (file: string): void => {
    if (loaded.has(file)) return;
    loaded.add(file);
    if (!file.startsWith("./")) return;
    const text = readFileSync(new URL(file, dist), "utf8");
    for (const [, from = ""] of text.matchAll(/^(?:import|export)[^"]*"([^"]+)";?$/gm)) follow(from);
  };
  follow("./check-run.js");
  const installed = [...loaded].filter((name) => !name.startsWith("./") && !name.startsWith("node:"));
  expect(installed.toSorted()).toEqual(["@signpost/core", "@signpost/core/adapter", "cli-table3"]);
});
