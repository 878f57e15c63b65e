import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { readInstant } from "@signpost/core/adapter";
import { createGivenToken } from "../src/given-token.ts";
import type { Lease } from "../src/token-calls.ts";
import { createTokenFile } from "../src/token-file.ts";
import { rejection } from "./support/signatures.ts";

// How long the tokens of the caller are used, renewed and waited for, to the millisecond.

const readFile = vi.hoisted(() => vi.fn<(argument: string, path: string) => Promise<string>>());
vi.mock("../src/secret-file.ts", async (original) => ({
  ...(await original<typeof import("../src/secret-file.ts")>()),
  readSecretFile: readFile,
}));

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => {
  vi.useRealTimers();
  readFile.mockReset();
});

const { signal } = new AbortController();
const never = async (): Promise<never> => new Promise<never>(() => undefined);
const wait = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};
const leaseOf = (token: string, leaseMs = 3_600_000, renewable = true): Lease => ({
  token,
  leaseMs,
  since: readInstant(),
  renewable,
});

describe("a token of the caller", () => {
  const callsOf = (
    lookUp: () => Promise<Lease>,
    renew: (token: string, namespace?: string) => Promise<Lease> = never,
  ) => ({
    lookUp: vi.fn<(token: string) => Promise<Lease>>(lookUp),
    renew: vi.fn<(token: string, namespace: string | undefined) => Promise<Lease>>(renew),
  });
  const down = async (): Promise<never> => Promise.reject(new SignerError("unavailable", "down"));
  const denied = async (): Promise<never> => Promise.reject(new SignerError("access_denied", "no"));

  test.each([
    [999, 1],
    [1000, 2],
  ])("whose look-up failed is looked up again after a second: after %i ms, %i times", async (afterMs, times) => {
    const calls = callsOf(down);
    const tokens = createGivenToken("given", calls);
    expect(await tokens.token(signal)).toBe("given");
    await wait(afterMs);
    await tokens.token(signal);
    expect(calls.lookUp.mock.calls).toEqual(Array.from({ length: times }, () => ["given"]));
    // It was never known to be renewable.
    expect(tokens.trouble()).toBeUndefined();
    await tokens.close();
  });

  test("that may not look itself up is not looked up again", async () => {
    const calls = callsOf(denied);
    const tokens = createGivenToken("given", calls);
    await tokens.token(signal);
    await wait(60_000);
    await tokens.token(signal);
    expect(calls.lookUp).toHaveBeenCalledTimes(1);
    expect([tokens.trouble(), vi.getTimerCount()]).toEqual([undefined, 0]);
  });

  test.each<[what: string, leaseMs: number, renewable: boolean]>([
    ["is not renewable", 3000, false],
    ["has nothing left", 0, true],
    ["never ends", Infinity, true],
  ])("that %s is not renewed", async (_what, leaseMs, renewable) => {
    const calls = callsOf(async () => leaseOf("given", leaseMs, renewable));
    const tokens = createGivenToken("given", calls);
    await tokens.token(signal);
    await wait(60_000);
    await tokens.token(signal);
    expect([calls.lookUp.mock.calls.length, calls.renew.mock.calls.length]).toEqual([1, 0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is renewed at two thirds, in the server's own namespace, and nothing replaces it", async () => {
    const calls = callsOf(
      async () => leaseOf("given", 3000),
      async () => leaseOf("given", 6000),
    );
    const tokens = createGivenToken("given", calls);
    await tokens.token(signal);
    await wait(1999);
    expect(calls.renew).not.toHaveBeenCalled();
    await wait(1);
    expect(calls.renew.mock.calls).toEqual([["given", undefined]]);
    await wait(4000);
    expect(calls.renew).toHaveBeenCalledTimes(2);
    expect(await tokens.another("given", signal)).toBeUndefined();
    await tokens.close();
    await wait(60_000);
    expect(calls.renew).toHaveBeenCalledTimes(2);
  });

  test("whose renewal fails is renewed again after a second, and says so meanwhile", async () => {
    const calls = callsOf(async () => leaseOf("given", 3000), down);
    const tokens = createGivenToken("given", calls);
    await tokens.token(signal);
    await wait(2999);
    expect(calls.renew).toHaveBeenCalledTimes(1);
    expect(tokens.trouble()).toMatch(/^the token cannot be renewed since /);
    calls.renew.mockResolvedValue(leaseOf("given", 3_600_000));
    await wait(1);
    expect(calls.renew).toHaveBeenCalledTimes(2);
    expect(tokens.trouble()).toBeUndefined();
    await tokens.close();
  });

  test("whose renewal is refused is not renewed again, and says so", async () => {
    const calls = callsOf(async () => leaseOf("given", 3000), denied);
    const tokens = createGivenToken("given", calls);
    await tokens.token(signal);
    await wait(60_000);
    await tokens.token(signal);
    expect(calls.renew).toHaveBeenCalledTimes(1);
    expect(tokens.trouble()).toMatch(/access_denied/);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that is looked up when its signer closes starts no timer", async () => {
    let found = (_lease: Lease): void => undefined;
    const tokens = createGivenToken(
      "given",
      callsOf(() => new Promise((resolve) => (found = resolve))),
    );
    await tokens.token(signal);
    await tokens.close();
    found(leaseOf("given", 3000));
    await wait(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a token in a file", () => {
  test.each([
    [999, 1],
    [1000, 2],
  ])("is read again after a second: after %i ms it was read %i times", async (afterMs, times) => {
    readFile.mockResolvedValue("in-file");
    const tokens = createTokenFile("/run/token");
    await tokens.token(signal);
    await wait(afterMs);
    expect(await tokens.token(signal)).toBe("in-file");
    expect(readFile.mock.calls).toEqual(Array.from({ length: times }, () => ["auth.path", "/run/token"]));
  });

  test("is read once by calls at the same time, and again by the next one that was refused", async () => {
    readFile.mockResolvedValueOnce("first").mockResolvedValueOnce("second").mockResolvedValue("second");
    const tokens = createTokenFile("/run/token");
    expect(await Promise.all([tokens.token(signal), tokens.token(signal)])).toEqual(["first", "first"]);
    expect(await tokens.another("first", signal)).toBe("second");
    expect(await tokens.another("second", signal)).toBeUndefined();
    expect(readFile).toHaveBeenCalledTimes(3);
  });

  test("that cannot be read is an error at first, and trouble later", async () => {
    const error = new SignerError("access_denied", "gone");
    readFile.mockRejectedValueOnce(error).mockResolvedValueOnce("in-file").mockRejectedValue(error);
    const tokens = createTokenFile("/run/token");
    expect(await rejection(tokens.token(signal))).toBe(error);
    expect(await tokens.token(signal)).toBe("in-file");
    await wait(1000);
    expect(tokens.trouble()).toBeUndefined();
    expect(await tokens.token(signal)).toBe("in-file");
    expect(tokens.trouble()).toMatch(/^the token's file cannot be read since .* \(access_denied\)/);
    readFile.mockResolvedValue("in-file");
    await tokens.token(signal);
    expect(tokens.trouble()).toBeUndefined();
  });

  test("is not waited for by a call that was aborted, even with a token from before", async () => {
    readFile.mockResolvedValueOnce("in-file").mockImplementation(never);
    const tokens = createTokenFile("/run/token");
    await tokens.token(signal);
    await wait(1000);
    const caller = new AbortController();
    const aborted = rejection(tokens.token(caller.signal));
    caller.abort(new Error("gone"));
    expect(await aborted).toMatchObject({ code: "aborted" });
    expect(tokens.trouble()).toBeUndefined();
  });
});
