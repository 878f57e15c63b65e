import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type * as adapter from "@signpost/core/adapter";
import { fileInTime, findCredentialFile } from "../src/credential-file.ts";
import { untilFileAnswers } from "../src/subject-token-file.ts";

const state = vi.hoisted(() => ({ reads: [] as unknown[][], read: async (): Promise<unknown> => new Uint8Array() }));
vi.mock("@signpost/core/adapter", async (load) => ({
  ...(await load<typeof adapter>()),
  readRegularFile: (...given: unknown[]) => {
    state.reads.push(given);
    return state.read();
  },
}));

const VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS";
const LOWER = "google_application_credentials";
beforeEach(() => {
  state.reads.length = 0;
  state.read = async () => new Uint8Array();
  vi.stubEnv(VARIABLE, "");
  vi.stubEnv(LOWER, "");
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

describe("the file of the environment", () => {
  test("is none without a variable", () => {
    expect(findCredentialFile()).toBeUndefined();
    vi.stubEnv(VARIABLE, undefined);
    vi.stubEnv(LOWER, undefined);
    expect(findCredentialFile()).toBeUndefined();
    expect(state.reads).toEqual([]);
  });

  test.each([
    ["/a", "", "/a"],
    ["", "/b", "/b"],
    ["/a", "/b", "/a"],
  ])("of the variables %j and %j is %s, of at most 1 MiB", async (upper, lower, path) => {
    vi.stubEnv(VARIABLE, upper);
    vi.stubEnv(LOWER, lower);
    const wait = findCredentialFile();
    expect(state.reads).toEqual([]);
    await wait?.();
    expect(state.reads).toEqual([[VARIABLE, path, 1_048_576]]);
  });

  test("is waited for, and what is wrong with it is left to the SDK", async () => {
    vi.stubEnv(VARIABLE, "/a");
    let fail = (_error: Error): void => undefined;
    state.read = () => new Promise((_resolve, reject) => (fail = reject));
    let isOver = false;
    const waiting = findCredentialFile()?.().then(() => (isOver = true));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(isOver).toBe(false);
    fail(new Error("no such file"));
    await waiting;
    expect(isOver).toBe(true);
  });

  test("is waited for in the time that a call has for credentials", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const bounds = { timeoutMs: 300, signal: new AbortController().signal };
    const settled: unknown[] = [];
    const wait = () => new Promise<void>(() => undefined);
    fileInTime(wait, bounds, { action: "sign with", name: "v" }).catch((error: unknown) => settled.push(error));
    await vi.advanceTimersByTimeAsync(269);
    expect(settled).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toMatchObject([
      { code: "timeout", message: `cannot sign with v: the file in ${VARIABLE} was not read within 270 ms` },
    ]);
  });

  test("is not waited for after the end of the call", async () => {
    const bounds = { timeoutMs: 300, signal: AbortSignal.abort() };
    const waiting = fileInTime(() => new Promise(() => undefined), bounds, { action: "sign with", name: "v" });
    await expect(waiting).rejects.toMatchObject({ code: "aborted" });
  });
});

describe("the file with a subject token", () => {
  const source = { credential_source: { file: "/run/token" } };
  test.each<[what: string, jsonContent: unknown, isRead: boolean]>([
    ["of workload identity is read", source, true],
    ["behind impersonation is read", { source_credentials: source }, true],
    ["behind two steps of it is read", { source_credentials: { source_credentials: source } }, true],
    ["is the first one", { ...source, source_credentials: { credential_source: { file: "/other" } } }, true],
    ["is none for a URL", { credential_source: { url: "https://a" } }, false],
    ["is none for another source", { type: "authorized_user" }, false],
    ["is none if it is no text", { credential_source: { file: 7 } }, false],
    ["is none without a file of credentials", undefined, false],
    ["is none for null", null, false],
  ])("%s", async (_what, jsonContent, isRead) => {
    await untilFileAnswers({ jsonContent });
    expect(state.reads).toEqual(isRead ? [["credential_source.file", "/run/token", 65_536]] : []);
  });

  test("is waited for, and what is wrong with it is left to the SDK", async () => {
    let fail = (_error: Error): void => undefined;
    state.read = () => new Promise((_resolve, reject) => (fail = reject));
    let isOver = false;
    const waiting = untilFileAnswers({ jsonContent: source }).then(() => (isOver = true));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(isOver).toBe(false);
    fail(new Error("no such file"));
    await waiting;
    expect(isOver).toBe(true);
  });
});
