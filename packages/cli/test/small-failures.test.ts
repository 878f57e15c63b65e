import { ConfigurationError, EncodingError, SignerError } from "@signpost/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { contentOf } from "../src/config/certificate-files.ts";
import { publishedKeys } from "../src/doctor/published.ts";
import { loadKubernetes } from "../src/keys/kubernetes-package.ts";
import { CliError } from "../src/program/cli-error.ts";
import { failureOf } from "../src/program/failure.ts";
import { standIn } from "../src/config/config-keys.ts";
import { recordingContext } from "./support/recording-context.ts";
import { runPlan } from "../src/rotate/plan/run.ts";
import { createKeyFolder } from "./support/key-folder.ts";

// Failures and words that few commands come to.

const packages = vi.hoisted(() => ({ error: undefined as unknown }));
vi.mock("../src/keys/import-package.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  importPackage: async () => {
    throw packages.error;
  },
}));
afterEach(() => void vi.useRealTimers());

describe("an error means to the user", () => {
  const stackless = Object.assign(new TypeError("a mistake"), { stack: undefined });
  test.each<[what: string, error: unknown, failure: object]>([
    ["what it says", new CliError(1, "found", "it is", { hint: "look" }), { exitCode: 1, code: "found", hint: "look" }],
    ["a mistake of usage", new ConfigurationError("a", "expected b"), { exitCode: 2, code: "invalid_configuration" }],
    ["a mistake in a key", new EncodingError("weak_key", "a: expected b"), { exitCode: 2, code: "weak_key" }],
    ["a wrong argument of a key", new SignerError("invalid_argument", "no"), { exitCode: 2, code: "invalid_argument" }],
    [
      "a backend that is away",
      new SignerError("unavailable", "no"),
      { exitCode: 3, code: "unavailable", hint: undefined },
    ],
    ["a mistake in this program", stackless, { exitCode: 3, code: "internal", message: "a mistake", hint: undefined }],
    [
      "what is no error",
      "text",
      { exitCode: 3, code: "internal", message: "something that is not an Error was thrown" },
    ],
  ])("%s", (_what, error, failure) => {
    expect(failureOf(error)).toMatchObject(failure);
  });

  test.each([
    ["access_denied", /^The message says what was refused/],
    ["pin_incorrect", /^Check the PIN before you try again/],
    ["pin_locked", /^The token's security officer/],
    ["unsupported_key", /^Signpost signs with EC keys on the curve P-256 only/],
  ] as const)("what to do about %s", (code, hint) => {
    expect(failureOf(new SignerError(code, "no")).hint).toMatch(hint);
  });
});

describe("the signer of kube-apiserver", () => {
  test.each([
    ["lacks its peer", "ERR_MODULE_NOT_FOUND", "Cannot find package '@grpc/grpc-js'", "npm install @grpc/grpc-js"],
    ["lacks something else", "ERR_MODULE_NOT_FOUND", "Cannot find package 'other'", undefined],
    ["is broken", "ERR_OTHER", "Cannot find package '@grpc/grpc-js'", undefined],
  ])("%s", async (_what, code, message, hint) => {
    packages.error = Object.assign(new Error(message), { code });
    const loading = loadKubernetes("/");
    if (hint === undefined) await expect(loading).rejects.toBe(packages.error);
    else await expect(loading).rejects.toMatchObject({ exitCode: 2, code: "package_missing", hint });
  });
});

test.each([
  ["http://op.example/jwks", true],
  ["http://localhost.example/jwks", true],
])("a key set at %s is not compared, since anyone on the way could replace it", async (jwksUri) => {
  const { publicKey } = standIn();
  const published = publishedKeys(jwksUri);
  expect(published.jwksUri).toBe(jwksUri);
  const key = { keyId: "a", publicKey, expected: "now" } as const;
  expect(await published.compare(key, new AbortController().signal)).toEqual({
    check: "published",
    level: "note",
    text: `not compared: ${jwksUri} is plain HTTP on another machine`,
  });
});

test.each([
  ["file:/%2F", "its path has no meaning|ERR_INVALID_FILE_URL_PATH"],
  ["file:none.pem", "ENOENT"],
  ["FILE:none.pem", "ENOENT"],
])("a chain in %s cannot be read", async (value, why) => {
  await expect(contentOf(value, "keys[0].certificates.chain", "/nowhere")).rejects.toMatchObject({
    argument: "keys[0].certificates.chain",
    message: expect.stringMatching(new RegExp(`the file cannot be read \\((?:${why})\\)$`)),
  });
});

test.each([["xfile:a"], [["file:a"]], [7], [undefined]])("what names no file is kept: %j", async (value) => {
  expect(await contentOf(value, "a", "/nowhere")).toEqual(value);
});

test("a plan names the keys that it does not show", async () => {
  await using folder = await createKeyFolder();
  const key = (keyId: string, from: string): object => ({
    keyId,
    signer: `local:${keyId}.pem`,
    announcedFrom: `${from}T00:00:00Z`,
    activeFrom: `${from}T06:00:00Z`,
  });
  const entries = [key("a\u001b", "2020-01-01"), key("b", "2021-01-01"), key("c", "2022-01-01")];
  await folder.write("old.json", { entries, maxTokenLifetimeSeconds: 60 });
  const printed = async (at?: string): Promise<string> => {
    const context = recordingContext(folder.path);
    expect(await runPlan(context, { config: "old.json", at })).toBe(0);
    return context.printed();
  };
  expect(await printed()).toContain("No longer needed, and not shown: a\\u001b, b\n");
  expect(await printed("2020-06-01T00:00:00Z")).not.toContain("not shown");
  expect((await printed("2020-06-01T00:00:00Z")).split("\n")[1]).toMatch(
    /^at {4}2020-06-01T00:00:00Z {2}a\\u001b signs/,
  );
  expect((await printed()).split("\n")[1]).toMatch(/^now {3}/);
});
