import { expect, onTestFinished, test, vi } from "vitest";
import { createCredentialSource } from "../src/credential-source.ts";

test("a provider whose request hung while the process was frozen is replaced, by the wall clock", async () => {
  let made = 0;
  const source = createCredentialSource<number>(() => {
    const number = (made += 1);
    return async () => (number === 1 ? new Promise<number>(() => undefined) : number);
  }, 20_000);
  const outcomes = [source()];
  const now = Date.now.bind(Date);
  let frozenMs = 19_000;
  vi.spyOn(Date, "now").mockImplementation(() => now() + frozenMs);
  onTestFinished(() => void vi.restoreAllMocks());
  outcomes.push(source());
  expect(made).toBe(1);
  frozenMs = 20_000;
  expect(await source()).toBe(2);
  for (const outcome of outcomes) void outcome.catch(() => undefined);
});

test("a question that was answered, or that failed, leaves no timer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const answered = createCredentialSource(() => async () => "credentials", 60_000);
  await expect(answered()).resolves.toBe("credentials");
  expect(vi.getTimerCount()).toBe(0);
  const failing = createCredentialSource(() => () => Promise.reject(new Error("none")), 60_000);
  await expect(failing()).rejects.toMatchObject({ name: "CredentialsError" });
  expect(vi.getTimerCount()).toBe(0);
});
