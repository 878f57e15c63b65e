import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { openSigner, SignerError, type GuardedSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { BackendChecks } from "../src/doctor/backend.ts";
import { examineKey, type KeyToExamine } from "../src/doctor/examine-key.ts";
import { note, ok, problem, type Finding, type KeyReport } from "../src/doctor/finding.ts";
import { LOCAL } from "../src/doctor/local.ts";
import { probeOnce } from "../src/doctor/probe.ts";
import type { PublishedKeys } from "../src/doctor/published.ts";
import { CliError } from "../src/program/cli-error.ts";
import { FIXED_CHAIN } from "./support/fixed-chain.ts";
import { createKeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// In which order a key is examined, what each failure becomes, and what is not tried after it.

/** What the backend of the scheme "vault" says of a key. */
const backend = vi.hoisted(() => ({ checks: {} as BackendChecks }));
vi.mock("../src/doctor/vault.ts", () => ({
  VAULT: {
    before: (...args: Parameters<NonNullable<BackendChecks["before"]>>) => backend.checks.before?.(...args),
    examine: (...args: Parameters<BackendChecks["examine"]>) => backend.checks.examine(...args),
    clockUrl: (...args: Parameters<NonNullable<BackendChecks["clockUrl"]>>) => backend.checks.clockUrl?.(...args),
  },
}));
const clocks = vi.hoisted(() => [] as string[]);
vi.mock("../src/doctor/clock.ts", () => ({
  checkClock: async (url: string) => {
    clocks.push(url);
    return { check: "clock", level: "ok", text: "agrees" };
  },
}));
beforeEach(() => {
  backend.checks = { examine: async () => [] };
  clocks.length = 0;
});

async function opened(): Promise<GuardedSigner> {
  return openSigner("local:", [local()]);
}

const published: PublishedKeys = { jwksUri: "https://op.example/jwks", compare: async () => ok("published", "same") };

function subject(more: Partial<KeyToExamine> = {}): KeyToExamine {
  return {
    name: "sig-1",
    scheme: "vault",
    uri: "vault:///transit/keys/op",
    options: {},
    context: recordingContext("/"),
    pin: async () => undefined,
    open: opened,
    compared: ({ publicKey }) => ({ keyId: "sig-1", publicKey, expected: "now" }),
    published: undefined,
    samples: 0,
    certificates: undefined,
    span: undefined,
    ...more,
  };
}

const shown = ({ findings }: KeyReport): string[] =>
  findings.map(({ check, level, text }: Finding) => `${check} ${level} ${text.replace(/\d+ ms/, "N ms")}`);

const OPENED = "open ok opened in N ms";
const SIGNS = "probe ok signs, and the signature verifies with the public key";

test("a good key is opened, signs, and is closed", async () => {
  const key = await opened();
  const report = await examineKey(subject({ open: async () => key }));
  expect([report.name, report.uri, report.away, shown(report)]).toEqual(["sig-1", key.uri, false, [OPENED, SIGNS]]);
  await expect(probeOnce(key, new AbortController().signal)).rejects.toMatchObject({ code: "closed" });
});

test("the findings come in the order in which people look for them", async () => {
  backend.checks = {
    before: async () => [note("token", "before")],
    examine: async () => [ok("key", "examined")],
  };
  const certificates = { chain: FIXED_CHAIN };
  const report = await examineKey(subject({ published, samples: 3, certificates }));
  expect(shown(report).map((text) => text.split(" ").slice(0, 2).join(" "))).toEqual([
    "open ok",
    "token note",
    "probe ok",
    expect.stringMatching(/^latency (?:note|warning)$/),
    "published ok",
    "certificates problem",
    "clock ok",
    "key ok",
  ]);
  expect(report.findings.find(({ check }) => check === "latency")?.text).toMatch(/^3 signatures: /);
});

test("the clock is compared with the backend, or else with the OP", async () => {
  await examineKey(subject());
  await examineKey(subject({ published }));
  backend.checks = { examine: async () => [], clockUrl: () => "https://vault.example/" };
  await examineKey(subject({ published }));
  expect(clocks).toEqual(["https://op.example/jwks", "https://vault.example/"]);
});

test("a key that another account may hold is not examined, and its clock is that of the OP", async () => {
  const examine = vi.fn<BackendChecks["examine"]>(async () => [ok("key", "examined")]);
  backend.checks = { examine, clockUrl: () => "https://vault.example/" };
  const report = await examineKey(subject({ options: { dispatcher: {} }, published }));
  expect(shown(report).at(-1)).toBe(
    "key note not examined: this command cannot use the option dispatcher of the adapter",
  );
  expect(examine).not.toHaveBeenCalled();
  expect(clocks).toEqual(["https://op.example/jwks"]);
});

test("a problem before the opening is all that is said, and the key is not opened", async () => {
  const open = vi.fn<KeyToExamine["open"]>();
  const found = [note("token", "a"), problem("token", "b", "c")];
  backend.checks = { examine: async () => [], before: async () => found };
  expect(await examineKey(subject({ open }))).toEqual({ name: "sig-1", uri: undefined, findings: found, away: false });
  expect(open).not.toHaveBeenCalled();
});

test("what cannot be found out before the opening is a note, of one line", async () => {
  const before = async (): Promise<never> => {
    throw new CliError(3, "away", "no module\nsecond line");
  };
  backend.checks = { examine: async () => [], before };
  expect(shown(await examineKey(subject()))).toEqual([OPENED, "key note not examined: no module", SIGNS]);
});

test.each<[error: Error, away: boolean, text: string, todo: string]>([
  [new SignerError("unavailable", "no answer"), true, "no answer (unavailable)", "Read the message, and the guide"],
  [new SignerError("key_not_found", "no key"), false, "no key (key_not_found)", "Read the message, and the guide"],
  [new SignerError("pin_incorrect", "wrong"), false, "wrong (pin_incorrect)", "Check the PIN before you try again"],
  [new CliError(2, "a_code", "bad\u001B[1m"), false, "(a_code)", "Read the message"],
])("a key that does not open is a problem: %o", async (error, away, text, todo) => {
  backend.checks = { examine: async () => [], before: async () => [note("token", "before")] };
  const open = async (): Promise<never> => {
    throw error;
  };
  const report = await examineKey(subject({ open, published, samples: 3 }));
  expect(report).toMatchObject({ name: "sig-1", uri: undefined, away });
  expect(report.findings.map(({ check, level }) => `${check} ${level}`)).toEqual(["token note", "open problem"]);
  expect(report.findings.at(-1)?.text).toContain(text);
  expect(report.findings.at(-1)?.todo).toContain(todo);
  expect(report.findings.at(-1)?.text).not.toContain("\u001B");
});

test("a key that does not sign is not timed, and the rest is examined", async () => {
  const key = await opened();
  await key.close();
  backend.checks = { examine: async () => [ok("key", "examined")] };
  const report = await examineKey(subject({ open: async () => key, published, samples: 3 }));
  expect(report.findings.map(({ check, level }) => `${check} ${level}`)).toEqual([
    "open ok",
    "probe problem",
    "published ok",
    "clock ok",
    "key ok",
  ]);
});

test("what the backend does not tell is a note", async () => {
  backend.checks = { examine: () => Promise.reject(new CliError(3, "away", "refused\nsecond line")) };
  expect(shown(await examineKey(subject()))).toEqual([OPENED, SIGNS, "key note not examined: refused"]);
});

test.each(["before", "examine"] as const)("a command that is stopped in %s rejects", async (step) => {
  const controller = new AbortController();
  const context = { ...recordingContext("/"), signal: controller.signal };
  const stop = (): Promise<never> => {
    controller.abort(new Error("stopped"));
    return Promise.reject(new Error("failed"));
  };
  backend.checks = { examine: async () => [], [step]: stop };
  await expect(examineKey(subject({ context }))).rejects.toThrow("stopped");
});

test("a command that is stopped while a key opens rejects", async () => {
  const controller = new AbortController();
  const context = { ...recordingContext("/"), signal: controller.signal };
  const open = (): Promise<never> => {
    controller.abort(new Error("stopped"));
    return Promise.reject(new Error("failed"));
  };
  await expect(examineKey(subject({ context, open }))).rejects.toThrow("stopped");
});

test("a scheme without checks has no more findings", async () => {
  expect(shown(await examineKey(subject({ scheme: "other" })))).toEqual([OPENED, SIGNS]);
});

test("the file of a software key is for its owner only", async () => {
  const folder = await createKeyFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  await folder.addKey("op.pem");
  const examine = async (mode: number): Promise<Finding[]> => {
    await chmod(join(folder.path, "op.pem"), mode);
    return [
      ...(await LOCAL.examine(subject({ uri: "local:op.pem", context: recordingContext(folder.path) }), {} as never)),
    ];
  };
  const software = note("key", "a software key. Keep the keys of a real OP in a KMS or an HSM");
  for (const mode of [0o600, 0o400, 0o711]) {
    const text = `the file has mode ${mode.toString(8)}`;
    expect(await examine(mode)).toEqual([software, ok("permissions", text)]);
  }
  for (const mode of [0o640, 0o620, 0o604, 0o602]) {
    const text = `the file has mode ${mode.toString(8)}, so other users can use the key`;
    expect(await examine(mode)).toEqual([
      software,
      problem("permissions", text, "chmod 600, and consider to replace the key"),
    ]);
  }
  expect(await examine(0o060)).toContainEqual(expect.objectContaining({ text: expect.stringContaining("mode 060") }));
});

test("a new software key has no file", async () => {
  expect(await LOCAL.examine(subject({ uri: "local:" }), {} as never)).toEqual([
    note("key", "a new software key, which ends with this process"),
  ]);
});
