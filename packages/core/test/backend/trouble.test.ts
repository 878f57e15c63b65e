import { expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { createTrouble } from "@signpost/core/adapter";

test("a trouble has a note from its first failure until it ends, with the code of the last one", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) });
  const trouble = createTrouble("the token cannot be renewed");
  expect(trouble.note()).toBeUndefined();
  trouble.failed(new SignerError("unavailable", "a secret"));
  vi.setSystemTime(Date.UTC(2026, 0, 2));
  trouble.failed(new SignerError("timeout", "a secret"));
  expect(trouble.note()).toBe(
    "the token cannot be renewed since 2026-01-01T00:00:00.000Z (timeout); calls fail when it ends",
  );
  trouble.ended();
  expect(trouble.note()).toBeUndefined();
  vi.useRealTimers();
});
