import { afterEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { expiryReport, operatorReport } from "@signpost/core/adapter";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a problem is reported to the operator", () => {
  const problem = new ConfigurationError("endpoint", "expected another one");

  test("after the request that found it, and an error of the callback reaches nothing", async () => {
    const told: unknown[] = [];
    const tell = operatorReport((given: unknown) => {
      told.push(given);
      throw new Error("the log is full");
    });
    tell(problem);
    expect(told).toEqual([]);
    await Promise.resolve();
    expect(told).toEqual([problem]);
  });

  test.each([
    [problem, "endpoint: expected another one"],
    ["text", "text"],
  ])("as a warning of the process if there is no callback", async (given, message) => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    operatorReport<unknown>()(given);
    await Promise.resolve();
    expect(warned.mock.calls).toEqual([[message, "SignpostWarning"]]);
  });
});

describe("a token that expires after its key is withdrawn", () => {
  function reports(latest: number | undefined, ...expiries: readonly unknown[]): readonly string[] {
    const told: string[] = [];
    const report = expiryReport(
      latest === undefined ? undefined : () => latest,
      ({ message }) => void told.push(message),
    );
    for (const exp of expiries) report(exp);
    return told;
  }

  test("is reported once, with the seconds that are missing, rounded up", () => {
    expect(reports(1000, 1000.5, 2000)).toEqual([
      "maxTokenLifetimeSeconds: increase it by at least 1 s: a token of the host expires after its key is withdrawn",
    ]);
    expect(reports(1000, 900, 1007)).toEqual([expect.stringContaining("by at least 7 s")]);
  });

  test.each([
    ["is not late", 1000, 1000],
    ["has no exp", 1000, undefined],
    ["has an exp that is no number", 1000, "2000"],
    ["is signed with a key that is never withdrawn", undefined, 2000],
  ])("is not reported if it %s", (_what, latest, exp) => {
    expect(reports(latest, exp)).toEqual([]);
  });
});
