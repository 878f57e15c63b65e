import { expect, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import type { SignerHarness } from "@signpost/conformance";
import { createReferenceBackend } from "./reference.ts";

const namesOf = (harness: SignerHarness): string[] => signerChecks(harness).map(({ name }) => name);

test("every check has a unique name", () => {
  const names = namesOf(createReferenceBackend().harness);
  expect(new Set(names).size).toBe(names.length);
});

test("every check is made of the bare and of the guarded signer", () => {
  const names = namesOf(createReferenceBackend().harness);
  const ofForm = (form: string): string[] =>
    names.filter((name) => name.startsWith(`${form}: `)).map((name) => name.slice(form.length + 2));
  expect(ofForm("bare")).toEqual(ofForm("guarded"));
  expect(ofForm("bare").length + ofForm("guarded").length).toBe(names.length);
});

test("the faults that a harness offers are checked, and no others", () => {
  const backend = createReferenceBackend();
  const without = namesOf({ ...backend.harness, faults: undefined });
  const added = namesOf({ ...backend.harness, faults: { throttle: backend.harness.faults.throttle } }).filter(
    (name) => !without.includes(name),
  );
  expect(without.filter((name) => / (signing|opening) while [a-z-]+ (rejects|works) /.test(name))).toEqual([]);
  expect(added).toEqual([
    "bare: signing while throttle rejects with throttled in time, and works after it",
    "bare: opening while throttle works or rejects with a SignerError, in bounded time",
    "guarded: signing while throttle rejects with throttled in time, and works after it",
    "guarded: opening while throttle works or rejects with a SignerError, in bounded time",
  ]);
});

test("opening with a signal or a time limit is checked if the harness can do it, and not otherwise", () => {
  const { harness } = createReferenceBackend();
  const without = namesOf({ ...harness, openWith: undefined });
  const silent = ["hang", "hang-after-headers"].map((fault) => `opening while ${fault} ends at its deadline`);
  expect(namesOf(harness).filter((name) => !without.includes(name))).toEqual(
    ["bare", "guarded"].flatMap((form) =>
      ["opening with a signal that is already aborted", "a signal that outlives the opening", ...silent].map((start) =>
        expect.stringMatching(new RegExp(`^${form}: ${start}`)),
      ),
    ),
  );
});

test("a fault is switched off again when its check fails", async () => {
  const backend = createReferenceBackend();
  const checks = signerChecks({ ...backend.harness, open: () => backend.open(false) });
  const check = checks.find(({ name }) => name.startsWith("guarded: signing while hang rejects"));
  await expect(check?.run()).rejects.toThrow("has not settled");
  expect(backend.fault()).toBeUndefined();
});

test("a secret that could match by chance is refused, without naming it", () => {
  const harness = { ...createReferenceBackend().harness, secrets: ["long enough", "1234"] };
  expect(() => signerChecks(harness)).toThrow(
    expect.objectContaining({
      name: "ConfigurationError",
      argument: "secrets[1]",
      message: expect.not.stringContaining("1234"),
    }),
  );
});

test("a fault that has no such name is refused", () => {
  const faults = { thottle: async () => undefined };
  expect(() =>
    signerChecks({ ...createReferenceBackend().harness, faults: faults as SignerHarness["faults"] }),
  ).toThrow(expect.objectContaining({ name: "ConfigurationError", argument: "faults.thottle" }));
});

test.each<[string, (harness: SignerHarness) => unknown, string]>([
  ["no object", () => null, "options"],
  ["no open", ({ secrets }) => ({ secrets }), "open"],
  ["an openWith that is no function", (harness) => ({ ...harness, openWith: true }), "openWith"],
  ["no secrets", ({ open }) => ({ open }), "secrets"],
  ["secrets that are no list", (harness) => ({ ...harness, secrets: "secret" }), "secrets"],
  ["a secret that is no text", (harness) => ({ ...harness, secrets: [1234567] }), "secrets[0]"],
  ["a misspelled member", (harness) => ({ ...harness, fault: {} }), "fault"],
  ["another misspelled member", (harness) => ({ ...harness, recoveryMS: 5 }), "recoveryMS"],
  ["a fault that is no function", (harness) => ({ ...harness, faults: { hang: true } }), "faults.hang"],
  ["faults that are no object", (harness) => ({ ...harness, faults: ["hang"] }), "faults"],
  ["a recovery of NaN", (harness) => ({ ...harness, recoveryMs: Number.NaN }), "recoveryMs"],
  ["a recovery without end", (harness) => ({ ...harness, recoveryMs: Number.POSITIVE_INFINITY }), "recoveryMs"],
  ["a recovery that is negative", (harness) => ({ ...harness, recoveryMs: -1 }), "recoveryMs"],
  ["a recovery of more than ten minutes", (harness) => ({ ...harness, recoveryMs: 600_001 }), "recoveryMs"],
  ["a recovery of half a millisecond", (harness) => ({ ...harness, recoveryMs: 0.5 }), "recoveryMs"],
  ["a secret of five characters", (harness) => ({ ...harness, secrets: ["12345"] }), "secrets[0]"],
  ["a recovery as text", (harness) => ({ ...harness, recoveryMs: "5" }), "recoveryMs"],
])("a harness with %s is refused", (_what, change, argument) => {
  const harness = change(createReferenceBackend().harness) as SignerHarness;
  expect(() => signerChecks(harness)).toThrow(expect.objectContaining({ name: "ConfigurationError", argument }));
});

test.each<[string, Partial<SignerHarness>]>([
  ["no recovery", { recoveryMs: 0 }],
  ["ten minutes of recovery", { recoveryMs: 600_000 }],
  ["a secret of six characters", { secrets: ["123456"] }],
  ["no secrets", { secrets: [] }],
  ["members without a value", { openWith: undefined, faults: undefined, recoveryMs: undefined }],
])("a harness with %s is accepted", (_what, change) => {
  expect(signerChecks({ ...createReferenceBackend().harness, ...change }).length).toBeGreaterThan(40);
});

test("a failed opening is reported unchanged", async () => {
  const open = (): Promise<never> => Promise.reject(new Error("no such token"));
  const [check] = signerChecks({ ...createReferenceBackend().harness, open });
  await expect(check?.run()).rejects.toThrow("no such token");
});
