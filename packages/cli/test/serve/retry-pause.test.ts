import { ConfigurationError, SignerError } from "@signpost/core";
import { afterEach, expect, test, vi } from "vitest";
import { CliError } from "../../src/program/cli-error.ts";
import { EXIT } from "../../src/program/exit-codes.ts";
import { retryPauseMs } from "../../src/serve/live/retry-pause.ts";

afterEach(() => void vi.restoreAllMocks());

const away = new SignerError("unavailable", "away");
const placed = (cause: unknown): CliError => new CliError(EXIT.backend, "unavailable", "keys[0]", { cause });

test.each([
  [1, 1000],
  [2, 2000],
  [5, 16_000],
  [6, 30_000],
  [60, 30_000],
])("after failure %i, the pause is at most %i ms and at least a fifth less", (failures, ms) => {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  expect(retryPauseMs(away, failures)).toBe(ms);
  random.mockReturnValue(1);
  expect(retryPauseMs(away, failures)).toBe(ms * 0.8);
});

test.each<[what: string, error: unknown, pauses: boolean]>([
  ["an outage", away, true],
  ["an outage, below the place of the key", placed(placed(away)), true],
  ["a refusal", new SignerError("access_denied", "no"), false],
  ["a mistake of the configuration", placed(new ConfigurationError("key", "x")), false],
  ["an error of the command", placed(undefined), false],
  ["another error", new TypeError("x"), false],
  ["nothing", undefined, false],
])("%s is tried again: %s", (_what, error, pauses) => {
  expect(retryPauseMs(error, 1) !== undefined).toBe(pauses);
});

test("a refused PIN has the longest pause at once, always the same", () => {
  expect(retryPauseMs(placed(new SignerError("pin_incorrect", "x")), 1)).toBe(30_000);
});
