import { execFile } from "node:child_process";
import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { type Allowed, type EndedCall, judgeCall, judgeFault } from "../faults/judge.ts";
import { ALL_KINDS, KINDS } from "../faults/kinds.ts";
import { describePlan, makePlan, narrowed } from "../faults/plan.ts";
import { plotsOf } from "../faults/plots.ts";
import { allFindings, type KeptResult } from "../faults/report.ts";
import { inOrder, resultsSection } from "../faults/tables.ts";
import { thumbprintOf } from "../faults/verifier.ts";

interface Key {
  readonly kid: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function createKey(): Key {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { kid: thumbprintOf(publicKey), publicKey, privateKey };
}

const [key, next] = [createKey(), createKey()];
const both = new Map([key, next].map(({ kid, publicKey }) => [kid, publicKey]));
const SIGNS: Allowed = { effect: "signs", codes: [] };

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function tokenOf({ kid, privateKey }: Key, subject = "user-1", alg = "ES256"): string {
  const input = `${encode({ alg, kid })}.${encode({ sub: subject })}`;
  return `${input}.${sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

/** The rules that a call breaks. By default `key` signs, and both are published. */
function rulesOf(
  outcome: EndedCall["outcome"],
  during: Partial<EndedCall> = {},
  allowed = SIGNS,
  truth = both,
): string[] {
  const call = { subject: "user-1", published: [both], kids: new Set([key.kid]), ...during };
  return judgeCall({ ...call, outcome }, allowed, truth).map(({ rule }) => rule);
}

describe("a token", () => {
  test("that the right key has signed breaks no rule", () => {
    expect(rulesOf({ token: tokenOf(key) })).toEqual([]);
  });

  test.each<[string, string]>([
    [
      "with a signature by another key",
      `${tokenOf(key).split(".").slice(0, 2).join(".")}.${tokenOf(next).split(".")[2]}`,
    ],
    ["with half a signature", tokenOf(key).slice(0, -43)],
    ["with a signature in DER", tokenWithDer()],
    ["with a byte more", `${tokenOf(key)}AA`],
    ["with padding", `${tokenOf(key)}==`],
    ["with another algorithm", tokenOf(key, "user-1", "none")],
    ["of another caller", tokenOf(key, "user-2")],
    ["that is empty", ""],
  ])("%s is a bad token", (_what, token) => {
    expect(rulesOf({ token })).toEqual(["bad token"]);
  });

  test("of a key that does not sign now has a wrong kid", () => {
    expect(rulesOf({ token: tokenOf(next) })).toEqual(["wrong kid"]);
  });

  test("of either key is right while one takes over from the other", () => {
    const kids = new Set([key.kid, next.kid]);
    expect([...rulesOf({ token: tokenOf(key) }, { kids }), ...rulesOf({ token: tokenOf(next) }, { kids })]).toEqual([]);
  });

  test("of a key that is not in the set cannot be verified by anyone", () => {
    expect(rulesOf({ token: tokenOf(key) }, { published: [new Map([[next.kid, next.publicKey]])] })).toEqual([
      "not published",
    ]);
  });

  test("of a key that the backend does not have is found out, although it verifies", () => {
    expect(rulesOf({ token: tokenOf(key) }, {}, SIGNS, new Map([[key.kid, next.publicKey]]))).toEqual([
      "not the backend's key",
    ]);
  });
});

function tokenWithDer(): string {
  const [header, payload] = tokenOf(key).split(".");
  return `${header}.${payload}.${sign("sha256", Buffer.from(`${header}.${payload}`), key.privateKey).toString("base64url")}`;
}

describe("a failure", () => {
  const during: Allowed = { effect: "fails", codes: ["unavailable", "integrity"] };

  test("with a code of the fault breaks no rule", () => {
    expect(rulesOf({ error: new SignerError("unavailable", "made up") }, {}, during)).toEqual([]);
    expect(rulesOf({ error: new SignerError("integrity", "made up", { transient: true }) }, {}, during)).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ["of another class", new TypeError("fetch failed"), "foreign error"],
    ["that is no object", "unavailable", "foreign error"],
    ["that is undefined", undefined, "foreign error"],
    ["with an unknown code", Object.assign(new SignerError("timeout", ""), { code: "ECONNRESET" }), "foreign error"],
    ["with a code of another fault", new SignerError("access_denied", "made up"), "wrong code"],
  ])("%s is found", (_what, error, rule) => {
    expect(rulesOf({ error }, {}, during)).toEqual([rule]);
  });

  test("with a wrong transient is found, for every code", () => {
    for (const code of ["unavailable", "throttled", "timeout", "overloaded", "closed", "bad_signature"] as const) {
      const error = new SignerError(code, "made up");
      Object.defineProperty(error, "transient", { value: !error.transient });
      expect(rulesOf({ error }, {}, { effect: "fails", codes: [code] })).toEqual(["wrong transient"]);
    }
  });

  test("is found where every call must give a token", () => {
    expect(rulesOf({ error: new SignerError("unavailable", "made up") })).toEqual(["failed without a fault"]);
  });
});

test("a fault that must be seen and is not makes the run fail", () => {
  expect(judgeFault("reset", "fails", 0)).toMatchObject([{ rule: "fault without effect" }]);
  expect([...judgeFault("reset", "fails", 1), ...judgeFault("flaky", "either", 0)]).toEqual([]);
  expect(judgeFault("session-lost", "either", 0, 0)).toMatchObject([{ rule: "fault without effect" }]);
  expect([...judgeFault("session-lost", "either", 0, 1), ...judgeFault("session-lost", "either", 1, 0)]).toEqual([]);
});

describe("a schedule", () => {
  test("follows from its seed", () => {
    expect(makePlan(7, 10_000, ALL_KINDS)).toEqual(makePlan(7, 10_000, ALL_KINDS));
    expect(describePlan(makePlan(7, 10_000, ALL_KINDS))).not.toEqual(describePlan(makePlan(8, 10_000, ALL_KINDS)));
  });

  test("has every kind of fault, and as many tokens without one as it should have", () => {
    const { episodes } = makePlan(7, 10_000, ALL_KINDS);
    expect(new Set(episodes.map(({ kind }) => kind))).toEqual(new Set(ALL_KINDS));
    expect(episodes.reduce((sum, { calm }) => sum + calm, 0)).toBeGreaterThanOrEqual(10_000);
  });

  test("can be narrowed to the kinds that a failure needs", () => {
    const plan = narrowed(makePlan(7, 100, ALL_KINDS), ["reset", "rotation"]);
    expect(plan.episodes.map(({ number, kind }) => [number, kind])).toEqual([
      [1, "reset"],
      [2, "rotation"],
    ]);
  });

  test("names codes for every kind that may fail, and none for one that may not", () => {
    const rows = Object.values(KINDS);
    expect(rows.filter(({ effect, codes }) => (effect === "signs") !== (codes.length === 0))).toEqual([]);
  });
});

/** What the judge must say about each defect of test/faults/planted.ts. */
const PLANTED: Readonly<Record<string, string>> = {
  "a bit of a signature is wrong": "bad token",
  "a caller gets the token of another": "bad token",
  "the key is not published": "not published",
  "an error of another class": "foreign error",
  "a failure with no fault": "failed without a fault",
  "a code that the fault does not give": "wrong code",
  "a wrong transient": "wrong transient",
  "a fault that hits nothing": "fault without effect",
  "a fault that the signer does not feel": "fault without effect",
  "a fault that does not end": "no recovery",
  "a promise that is late": "late promise",
  "a promise that hangs": "hanging promise",
  "a socket that stays open": "left behind",
  "a session that stays open": "left behind",
  "memory that stays in use": "memory",
  "a rejection that nothing handles": "rejection",
  "a warning about too many listeners": "warning",
};

test(
  "each defect that is put into a campaign turns it red, and one without any is green",
  { timeout: 240_000 },
  async () => {
    const program = fileURLToPath(new URL("../faults/dist/planted.js", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    const { none, ...found } = JSON.parse(stdout) as Readonly<Record<string, readonly string[]>>;
    expect(none).toEqual([]);
    expect(Object.keys(found).toSorted()).toEqual(Object.keys(PLANTED).toSorted());
    for (const [defect, rule] of Object.entries(PLANTED)) expect(found[defect], defect).toContain(rule);
  },
);

test("the page about reliability shows the results that are kept, and nothing else", () => {
  const folder = new URL("../faults/results/", import.meta.url);
  const results = readdirSync(folder).map(
    (name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")) as KeptResult,
  );
  const page = readFileSync(new URL("../../docs/reliability.md", import.meta.url), "utf8");
  const ordered = inOrder(results);
  expect(page).toContain(`-->\n\n${resultsSection(ordered, plotsOf(ordered))}\n\n<!--`);
  expect(results.flatMap(allFindings)).toEqual([]);
});
