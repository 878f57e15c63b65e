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
