import { createHash, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { NODE_VERSIONS } from "../../scripts/gates/node-matrix.mjs";
import { columnsOf, PAGE, pageProblems } from "../../scripts/gates/runtimes/page.mjs";
import { endpointProblems, REQUESTS } from "../../scripts/gates/runtimes/requests.mjs";
import { tokenProblems } from "../../scripts/gates/runtimes/tokens.mjs";
import { RUNTIME_VERSIONS } from "../../scripts/backends/runtime.mjs";

// What the gate of the runtimes notices. That the packages run is the gate itself.

const columns = columnsOf(NODE_VERSIONS, RUNTIME_VERSIONS);
const page = readFileSync(PAGE, "utf8");

describe("the table of runtimes", () => {
  test("has a cell for everything that is run, and names the tested versions", () => {
    expect(pageProblems(columns)).toEqual([]);
    for (const version of Object.values(RUNTIME_VERSIONS)) expect(page).toContain(version);
  });

  test.each([
    ["a cell says something else", page.replace("| runs |", "| no |"), /must be "runs", not "no"/],
    ["a limit is not named", page.replace(/runs, \[slow to end\]\(#rest\)/, "runs"), /must be "runs, \[limit\]/],
    ["a package is missing", page.replace(/^\| `@signpost\/cli` .*\n/m, ""), /the rows must be/],
    ["another version is named", page.replace("| Bun 1.4 |", "| Bun 1.3 |"), /the columns must be/],
  ])("is refused if %s", (_what, text, problem) => {
    const [found] = pageProblems(columns, text);
    expect(found).toMatch(problem);
  });
});

describe("the tokens of a rotation", () => {
  const [before, after] = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
  if (before === undefined || after === undefined) throw new Error("two keys are needed");
  const publicKeys = [before.publicKey, after.publicKey];

  function tokenOf(key: KeyObject): string {
    const signature = sign("sha256", Buffer.from("h.c"), { key, dsaEncoding: "ieee-p1363" });
    return `h.c.${signature.toString("base64url")}`;
  }

  const tokensOf = (count: number, keyAt: (index: number) => KeyObject): string[] =>
    Array.from({ length: count }, (_, index) => tokenOf(keyAt(index)));

  test("are right, also those that were in flight", () => {
    const tokens = tokensOf(100, (index) => (index < 40 ? before : after).privateKey);
    expect(tokenProblems(tokens, 100, publicKeys)).toEqual([]);
  });

  test.each([
    ["one is missing", tokensOf(99, (index) => (index < 50 ? before : after).privateKey), /signed 99 tokens/],
    ["the keys did not rotate", tokensOf(100, () => before.privateKey), /the second key did not sign 50 tokens after/],
    ["one does not verify", ["h.c.AAAA", ...tokensOf(99, (i) => (i < 49 ? before : after).privateKey)], /1 of 100/],
    ["the second key signed at first", tokensOf(100, () => after.privateKey), /the second key signed 50 tokens before/],
  ])("are refused if %s", (_what, tokens, problem) => {
    expect(tokenProblems(tokens, 100, publicKeys)[0]).toMatch(problem);
  });
});

describe("what the endpoint says", () => {
  const etag = `"${createHash("sha256").update("document").digest("hex")}"`;
  const body = Buffer.from("document").toString("base64");
  const expected = REQUESTS.map(({ status }) => ({ status, headers: { ETag: etag }, body }));

  test("is right", () => {
    expect(endpointProblems(etag, expected)).toEqual([]);
  });

  test.each(REQUESTS.map(({ method, headers }, index) => [`${method} ${JSON.stringify(headers)}`, index] as const))(
    "is refused if %s has another status",
    (what, index) => {
      const wrong = expected.with(index, { status: 500, headers: { ETag: etag }, body });
      expect(endpointProblems(etag, wrong)).toEqual([`${what}: the endpoint says 500`]);
    },
  );

  test("is refused if the ETag is not the hash", () => {
    expect(endpointProblems('"other"', expected)[0]).toMatch(/not the hash/);
  });
});
